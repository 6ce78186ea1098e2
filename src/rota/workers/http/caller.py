"""The caller of the lane `http`: a request for every claim, and one deadline over all of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from rota.errors import OperatorError
from rota.targets import TargetPolicy
from rota.workers.calls import Reply
from rota.workers.fill import Unsendable
from rota.workers.http import origin, wire
from rota.workers.http.client import Client
from rota.workers.http.connection import MAX_BODY
from rota.workers.http.failures import reply_to
from rota.workers.last_moment import Ready
from rota.workers.request import Still

if TYPE_CHECKING:
    import ssl
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule
    from rota.workers.callback import Callback
    from rota.workers.http.resolver import Lookup, Report
    from rota.workers.last_moment import LastMoment
    from rota.workers.request import Request


_MAX_STILLS: Final = 10_000


class HttpCaller:
    """Calls what the policy allows; by itself, that is the public internet.

    async with HttpCaller(targets) as http: ...

    `last_moment` fills secrets in and signs; without one, a request is sent as it is written.
    `callback` tells targets how to complete later what they take on.
    """

    def __init__(
        self,
        targets: TargetPolicy | None = None,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        max_body: int = MAX_BODY,
        last_moment: LastMoment | None = None,
        callback: Callback | None = None,
        report: Report | None = None,
    ) -> None:
        self._last_moment = last_moment
        self._callback = callback
        policy = targets or TargetPolicy()
        self._client = Client(policy, lookup=lookup, tls=tls, max_body=max_body, report=report)
        self._stills: OrderedDict[tuple[UUID, int], Still] = OrderedDict()

    def prepare(self, claim: Claim, schedule: Schedule) -> HttpCall:
        definition = schedule.definition
        request = self._still(claim, definition).request(claim)
        if self._callback is not None:
            headers = {**request.headers, **self._callback.headers(claim)}
            request = replace(request, headers=headers)
        if self._last_moment is not None:
            request = self._last_moment.begin(request)
        return HttpCall(
            client=self._client,
            claim=claim,
            request=request,
            last_moment=self._last_moment,
            timeout=definition.timeout.total_seconds(),
            once=definition.delivery == "at_most_once",
        )

    def _still(self, claim: Claim, definition: Definition) -> Still:
        key = claim.schedule_id, claim.version
        still = self._stills.get(key)
        if still is None or still.definition is not definition:
            still = self._stills[key] = Still.of(definition)
            if len(self._stills) > _MAX_STILLS:
                self._stills.popitem(last=False)
        return still

    async def close(self) -> None:
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One request, ready to be sent."""

    client: Client
    claim: Claim
    request: Request
    last_moment: LastMoment | None
    timeout: float
    once: bool
    """Whether the target must never get it twice, whatever becomes of the connection."""

    @property
    def shown(self) -> str:
        return self.request.shown

    async def send(self) -> Reply:
        try:
            async with asyncio.timeout(self.timeout):
                ready = await self._ready()
                # What is said about a failure may quote what was sent: it is scrubbed as well.
                return await ready.scrub(await self._answer(ready.request))
        except TimeoutError:
            return Reply(error=f"timed out after {self.timeout:g} s", timed_out=True)
        except Unsendable as error:
            return Reply(error=str(error), permanent=True, sent=False)
        except OperatorError as error:
            return Reply(error=str(error), sent=False)

    async def _ready(self) -> Ready:
        if self.last_moment is None:
            return Ready(request=self.request)
        return await self.last_moment.complete(self.claim, self.request)

    async def _answer(self, request: Request) -> Reply:
        try:
            return await self._exchange(request)
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - it may quote what was sent: scrubbed by `send`
            return reply_to(error)

    async def _exchange(self, request: Request) -> Reply:
        place, target = origin.split(request.url)
        return await self.client.exchange(
            self.claim.tenant_id,
            place,
            wire.encode(request, place, target),
            is_head=request.method == "HEAD",
            once=self.once,
        )
