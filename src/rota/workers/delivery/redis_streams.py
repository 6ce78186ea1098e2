"""The caller of the lane `stream`: one entry in a Redis stream for every firing, however often it
is tried.

A script on the server adds the entry and remembers the firing in one step. An attempt whose reply
was lost is repeated safely: it adds nothing, and reports the entry that is there.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from rota.errors import OperatorError, TemporaryError
from rota.targets import StreamTarget, TargetPolicy
from rota.tenants.secrets import Masked
from rota.workers.caller import WITHHELD, Reply, always
from rota.workers.delivery import message
from rota.workers.delivery.http.dial import Dialler
from rota.workers.delivery.http.resolver import Resolver
from rota.workers.delivery.request_signing import PreparedRequest
from rota.workers.delivery.secret_injection import Unsendable, names_in

if TYPE_CHECKING:
    import ssl

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Begin
    from rota.workers.delivery.http.resolver import Lookup, Report
    from rota.workers.delivery.redis_pools import Pools
    from rota.workers.delivery.request import Request
    from rota.workers.delivery.request_signing import RequestSigner

SEEN_TTL: Final = timedelta(days=1)
"""How long a firing is remembered beside its stream, or as long as it may be tried again."""

# The entry first: a stream that cannot take it must not leave a firing that looks delivered.
_ADD: Final = """
local entry = redis.call('GET', KEYS[1])
if entry then
    return entry
end
entry = redis.call('XADD', KEYS[2], '*', unpack(ARGV, 2))
redis.call('SET', KEYS[1], entry, 'EX', ARGV[1])
return entry
"""
_PASSWORD: Final = "Password"  # noqa: S105 - the name of a header
_ENTRY = re.compile(rb"[0-9]{1,20}-[0-9]{1,20}")


class StreamCaller:
    """Adds entries to the streams that the policy allows.

    async with StreamCaller(targets) as streams: ...

    `signer` fills secrets in; without one, a stream with a password cannot be reached.
    """

    def __init__(
        self,
        targets: TargetPolicy | None = None,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        signer: RequestSigner | None = None,
        report: Report | None = None,
    ) -> None:
        self._policy = targets or TargetPolicy()
        self._resolver = Resolver(self._policy, lookup, report)
        self._tls = tls
        self._signer = signer
        self._pools: Pools | None = None

    def prepare(self, claim: Claim, schedule: Schedule) -> StreamCall:
        definition = schedule.definition
        assert definition.stream is not None
        return StreamCall(
            caller=self,
            claim=claim,
            address=definition.stream,
            facts=message.facts(claim, schedule),
            payload=message.payload(claim, definition),
            timeout=definition.timeout.total_seconds(),
            # A replay is a new firing; this one is tried for the length of its window at most.
            seen_ttl=max(SEEN_TTL, definition.retry_window + definition.timeout),
        )

    async def ready(self, claim: Claim, request: Request) -> PreparedRequest:
        """The request with its secrets filled in."""
        if self._signer is None:
            if names := names_in(request):
                raise Unsendable(f"expected the secret {min(names)}, got no key ring to open it by")
            return PreparedRequest(request=request)
        return await self._signer.complete(claim, request)

    def pools(self) -> Pools:
        """Made at the first use: redis is an extra, and most installations have no stream."""
        if self._pools is None:
            try:
                from rota.workers.delivery.redis_pools import Guard, Pools  # noqa: PLC0415 - see above
            except ModuleNotFoundError as error:
                raise Unsendable(
                    "this worker cannot reach Redis: install it with pip install 'rota[redis]'"
                ) from error
            dialler = Dialler(self._policy, self._resolver)
            self._pools = Pools(Guard(dialler=dialler, tls=self._tls))
        return self._pools

    async def close(self) -> None:
        if self._pools is not None:
            await self._pools.close()
        await self._resolver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCall:
    """One entry, ready to be added."""

    caller: StreamCaller
    claim: Claim
    address: str
    facts: dict[str, str]
    payload: bytes
    timeout: float
    seen_ttl: timedelta

    @property
    def shown(self) -> str:
        return message.shown("XADD", self.address, self.facts, self.payload)

    async def send(self, begin: Begin = always) -> Reply:
        try:
            target = StreamTarget.read(self.address)
            ready = await self.caller.ready(self.claim, self._template(target))
            async with asyncio.timeout(self.timeout):
                return await ready.scrub(await self._deliver(target, ready.request, begin))
        except TimeoutError:
            return Reply(error=f"timed out after {self.timeout:g} s", timed_out=True)
        except Unsendable as error:
            return Reply(error=str(error), permanent=True, sent=False)
        except OperatorError as error:
            return Reply(error=str(error), sent=False)
        except TemporaryError:
            return WITHHELD

    def _template(self, target: StreamTarget) -> Request:
        password = {} if target.secret is None else {_PASSWORD: f"${{secrets.{target.secret}}}"}
        return message.template("XADD", "", self.payload, password)

    async def _deliver(self, target: StreamTarget, request: Request, begin: Begin) -> Reply:
        password = request.headers.get(_PASSWORD)
        masked = None if password is None else Masked(password)
        pools = self.caller.pools()
        try:
            async with pools.client(self.claim.tenant_id, target, masked) as client:
                if not begin():
                    return WITHHELD
                entry = await self._add(client, target, request.body)
        except Exception as error:  # noqa: BLE001 - whatever a stranger's server does is a reply
            from rota.workers.delivery.redis_failures import reply_of  # noqa: PLC0415 - redis is an extra

            return reply_of(error)
        return Reply(body=entry) if _ENTRY.fullmatch(entry) else Reply(error=_STRANGE)

    async def _add(self, client: Any, target: StreamTarget, payload: bytes) -> bytes:
        said = {**self.facts, "payload": payload}
        entry = await client.eval(
            _ADD,
            2,
            _seen_key(target.name, message.delivery_id(self.facts)),
            target.name,
            int(self.seen_ttl.total_seconds()),
            *(part for pair in said.items() for part in pair),
        )
        return entry if isinstance(entry, bytes) else b""


_STRANGE: Final = "Redis: expected the id of an entry, got something else"


def _seen_key(stream: str, delivery_id: str) -> str:
    """In the stream's own slot of a cluster: what is in braces decides."""
    tag = stream if "{" in stream else f"{{{stream}}}"
    return f"rota:{tag}:{delivery_id}"
