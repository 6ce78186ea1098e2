"""Calling a channel's webhook: by the guarded client of targets, and signed as firings are."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.errors import OperatorError
from rota.tenants.signing import SigningSecrets
from rota.watch.sender import Told
from rota.workers import sign
from rota.workers.http import described, origin, wire
from rota.workers.http.client import Client
from rota.workers.judge import retry_after
from rota.workers.request import USER_AGENT, Request

if TYPE_CHECKING:
    import ssl
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.targets import TargetPolicy
    from rota.tenants.secrets import Vault
    from rota.watch.addresses import Webhook
    from rota.workers.calls import Reply
    from rota.workers.http.resolver import Report

TIMEOUT: Final = timedelta(seconds=15)
_MAX_ANSWER: Final = 16 * 1024
_GONE: Final = 410


class Webhooks:
    """Calls what the policy allows, and nothing else (S1, S2): a channel's URL is a stranger's."""

    def __init__(
        self,
        db: Database,
        vault: Vault,
        *,
        policy: TargetPolicy,
        clock: Clock,
        tls: ssl.SSLContext | None = None,
        report: Report | None = None,
    ) -> None:
        self._db = db
        self._signing = SigningSecrets(vault)
        self._clock = clock
        self._client = Client(policy, tls=tls, max_body=_MAX_ANSWER, report=report)

    async def __call__(
        self, tenant_id: UUID, message_id: UUID, webhook: Webhook, content: bytes
    ) -> Told:
        try:
            headers = {**_HEADERS, **webhook.headers}
            headers |= await self._signature(tenant_id, message_id, content)
            request = Request(method="POST", url=webhook.url, headers=headers, body=content)
            async with asyncio.timeout(TIMEOUT.total_seconds()):
                place, target = origin.split(request.url)
                data = wire.encode(request, place, target)
                reply = await self._client.exchange(
                    tenant_id, place, data, is_head=False, once=True
                )
        except TimeoutError:
            return Told(error=f"timed out after {TIMEOUT.total_seconds():g} s")
        except OperatorError as error:
            return Told(error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever the network does is a failed try
            return Told(error=described(error))
        return self._judge(reply)

    async def close(self) -> None:
        await self._client.close()

    def _judge(self, reply: Reply) -> Told:
        code = reply.code
        if code is None:
            return Told(error=reply.error or "no answer")
        if 200 <= code < 300:
            return Told()
        wanted = retry_after(reply, self._clock.now())
        return Told(error=f"HTTP {code}", wanted=wanted, gone=code == _GONE)

    async def _signature(self, tenant_id: UUID, message_id: UUID, content: bytes) -> dict[str, str]:
        """Standard Webhooks (S13): the id is the same at every try, so a repeat can be told."""
        if not self._signing.is_on:
            return {}
        async with self._db.transaction() as tx:
            secrets = await self._signing.of(tx, tenant_id)
        now = self._clock.now()
        headers = sign.unsigned_headers(ids.to_text(ids.Kind.NOTIFICATION, message_id), now)
        signature = sign.signature(
            (each.key for each in secrets if each.signs_at(now)),
            id_=headers[sign.ID],
            timestamp=headers[sign.TIMESTAMP],
            body=content,
        )
        return {**headers, sign.SIGNATURE: signature}


_HEADERS: Final = {
    "User-Agent": USER_AGENT,
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}
