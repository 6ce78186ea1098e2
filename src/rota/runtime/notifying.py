"""Calling a channel's webhook: by the guarded client of targets, and signed as firings are."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.db.server_clock import DatabaseClock
from rota.errors import OperatorError
from rota.targets import signing_host
from rota.tenants.signing import SigningSecrets
from rota.watch.sender import Told
from rota.workers.delivery import signing
from rota.workers.delivery.http import described, origin, wire
from rota.workers.delivery.http.client import Client
from rota.workers.delivery.request import USER_AGENT, Request
from rota.workers.outcome import retry_after

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.targets import TargetPolicy
    from rota.tenants.secrets import Vault
    from rota.tenants.signing import SigningSecret
    from rota.watch.addresses import Webhook
    from rota.workers.caller import Reply
    from rota.workers.delivery.http.resolver import Report

    _Keys = Callable[[UUID], Awaitable[list[SigningSecret]]]

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
        self._time = DatabaseClock(clock)
        self._client = Client(policy, tls=tls, max_body=_MAX_ANSWER, report=report)
        self._prepared: dict[UUID, list[SigningSecret]] = {}

    async def __call__(
        self, tenant_id: UUID, message_id: UUID, webhook: Webhook, content: bytes
    ) -> Told:
        return await self._send(tenant_id, message_id, webhook, content, self._read)

    async def prepare(self, tx: Tx, tenant_ids: list[UUID]) -> None:
        """Read all that `prepared` needs to call webhooks of these tenants."""
        await self._time.ask(tx)
        self._prepared = await self._signing.of_all(tx, tenant_ids) if self._signing.is_on else {}

    async def prepared(
        self, tenant_id: UUID, message_id: UUID, webhook: Webhook, content: bytes
    ) -> Told:
        """The same without the database, for tenants that were prepared."""

        async def known(tenant_id: UUID) -> list[SigningSecret]:
            return self._prepared.get(tenant_id, [])

        return await self._send(tenant_id, message_id, webhook, content, known)

    async def _send(
        self, tenant_id: UUID, message_id: UUID, webhook: Webhook, content: bytes, keys: _Keys
    ) -> Told:
        try:
            headers = {**_HEADERS, **webhook.headers}
            request = Request(method="POST", url=webhook.url, headers=headers, body=content)
            request = await self._signed(tenant_id, message_id, request, keys)
            async with asyncio.timeout(TIMEOUT.total_seconds()):
                place, target = origin.split(request.url)
                data = wire.encode(request, place, target)
                reply = await self._client.exchange(
                    (tenant_id, place), data, is_head=False, once=True
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
        wanted = retry_after(reply, self._time.now())
        return Told(error=f"HTTP {code}", wanted=wanted, gone=code == _GONE)

    async def _read(self, tenant_id: UUID) -> list[SigningSecret]:
        async with self._db.transaction() as tx:
            await self._time.ask(tx)
            return await self._signing.of(tx, tenant_id)

    async def _signed(
        self, tenant_id: UUID, message_id: UUID, request: Request, keys_of: _Keys
    ) -> Request:
        """Signed as firings are; the id is the same at every try, so a repeat can be told."""
        if not self._signing.is_on:
            return request
        secrets = await keys_of(tenant_id)
        now, host = self._time.now(), signing_host.of_url(request.url)
        id_ = ids.to_text(ids.Kind.NOTIFICATION, message_id)
        headers = {**request.headers, **signing.unsigned_headers(id_, now)}
        keys = [each.key_for(host) for each in secrets if each.signs_at(now)]
        headers |= signing.signed_headers(keys, request.method, headers, request.body)
        return replace(request, headers=headers)


_HEADERS: Final = {
    "User-Agent": USER_AGENT,
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}
