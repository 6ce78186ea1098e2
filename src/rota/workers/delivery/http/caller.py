"""The caller of the lane `http`: a request for every claim, and one deadline over all of it.

A claim that is held ahead of its instant is prepared: secrets filled in, signed for its instant,
as bytes, with a connection opened right before. What is left to do at the instant is one check and
one write.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

import msgspec

from rota.errors import OperatorError, TemporaryError
from rota.queue.external_claims import TOKEN_PREFIX
from rota.signatures import CALL_SIGNATURE, SIGNATURE, VERSION, hmac_key
from rota.targets import TargetPolicy, signing_host
from rota.workers.caller import WITHHELD, Reply, always
from rota.workers.delivery import signing
from rota.workers.delivery.call_facts import facts_of
from rota.workers.delivery.http import origin, wire
from rota.workers.delivery.http.client import Client
from rota.workers.delivery.http.connection import MAX_BODY
from rota.workers.delivery.http.failures import CallFailed, reply_to
from rota.workers.delivery.redaction import Hidden, Watch
from rota.workers.delivery.request import RequestTemplate
from rota.workers.delivery.request_signing import LONG, filled, hidden_of, redacted
from rota.workers.delivery.secret_injection import Unsendable

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule
    from rota.signatures import HmacKey
    from rota.tenants.signing import SigningSecret
    from rota.workers.caller import Begin
    from rota.workers.delivery.call_facts import CallFacts
    from rota.workers.delivery.callback import Callback
    from rota.workers.delivery.http.resolver import Lookup, Report
    from rota.workers.delivery.request_signing import KnownSecret, RequestSigner


_MAX_TEMPLATES: Final = 10_000
_GOOD_FOR: Final = 1.0
"""Seconds after its instant for which a request is sent as it was prepared; then it is signed
again."""
_SECRETS_PAUSE: Final = 0.1
"""Seconds until a request is prepared whose secrets are yet to be read."""
_OWN: Final = Hidden((TOKEN_PREFIX.encode(), VERSION.encode()))
"""How the values begin that Rota itself adds and that nobody else may see. A reply without these
holds none of them."""


class HttpCaller:
    """Calls what the policy allows; by itself, that is the public internet.

    async with HttpCaller(targets) as http: ...

    `signer` fills secrets in and signs; without one, a request is sent as it is written.
    `callback` tells targets how to complete later what they take on.
    """

    def __init__(
        self,
        targets: TargetPolicy | None = None,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        max_body: int = MAX_BODY,
        signer: RequestSigner | None = None,
        callback: Callback | None = None,
        report: Report | None = None,
    ) -> None:
        self.signer = signer
        self._callback = callback
        policy = targets or TargetPolicy()
        self.client = Client(policy, lookup=lookup, tls=tls, max_body=max_body, report=report)
        self._templates: OrderedDict[tuple[UUID, int], _Template] = OrderedDict()

    def prepare(self, claim: Claim, schedule: Schedule) -> HttpCall:
        call = HttpCall(self, claim, schedule)
        call.require_facts()
        return call

    def prepare_early(self, claim: Claim, schedule: Schedule, wait: float) -> HttpCall:
        """The call, to be made in `wait` seconds."""
        call = HttpCall(self, claim, schedule)
        call.prepare(asyncio.get_running_loop().time() + wait)
        return call

    def facts(self, claim: Claim, definition: Definition, at: datetime | None = None) -> CallFacts:
        """What is said about the call now, or at this instant."""
        callback, signer = self._callback, self.signer
        sent_at = None
        if signer is not None and signer.signs:
            sent_at = signer.now_seconds() if at is None else int(at.timestamp())
        if callback is None:
            return facts_of(claim, definition, sent_at=sent_at)
        token, url = callback.token(claim), callback.url(claim)
        return facts_of(claim, definition, token=token, callback=url, sent_at=sent_at)

    def template(self, claim: Claim, definition: Definition) -> _Template:
        """What the requests of the claim's schedule have in common."""
        if claim.payload is not None:
            return _Template(RequestTemplate.of(definition, claim.payload))
        key = claim.schedule_id, claim.version
        found = self._templates.get(key)
        if found is None or found.template.definition is not definition:
            found = self._templates[key] = _Template(RequestTemplate.of(definition))
            if len(self._templates) > _MAX_TEMPLATES:
                self._templates.popitem(last=False)
        return found

    async def close(self) -> None:
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@lru_cache(maxsize=1_000)
def _hidden(secrets: tuple[KnownSecret, ...]) -> tuple[Hidden, Watch]:
    """What must not show of these, and the watch for it and for Rota's own hidden values. Once for
    all schedules that use the same secrets: there are dozens of forms of each."""
    hidden = hidden_of(secrets)
    return hidden, Watch(Hidden.all((hidden, _OWN)))


class _Template:
    """A template, and what was last made of it: the bytes around the facts, with secrets."""

    __slots__ = ("_filled", "template")

    def __init__(self, template: RequestTemplate) -> None:
        self.template = template
        self._filled: _Filled | None = None

    def filled(self, secrets: tuple[KnownSecret, ...]) -> _Filled:
        """With these secrets, or as it is written without any; made again only when they are
        others. `Unsendable`, `CallFailed` and ValueError when no request can be made of it."""
        found = self._filled
        if found is None or found.secrets != secrets:
            template = self.template
            request = filled(template.request, template.secrets, secrets)
            hidden, watch = _hidden(secrets)
            found = self._filled = _Filled(
                frame=wire.Frame.of(request),
                secrets=secrets,
                hidden=hidden,
                watch=watch,
                host=signing_host.of_url(request.url),
            )
        return found


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class _Filled:
    """All of a schedule's requests but the facts."""

    frame: wire.Frame
    secrets: tuple[KnownSecret, ...]
    hidden: Hidden
    """What must not show of the secrets."""
    watch: Watch
    """For these, and for Rota's own hidden values."""
    host: str
    """Whose signing keys are used."""
    _signing: Sequence[SigningSecret] = ()
    _keys: Sequence[HmacKey] = ()

    def keys(self, signing: Sequence[SigningSecret]) -> Sequence[HmacKey]:
        """The host's keys of these secrets; worked out again only when they are others."""
        if signing is not self._signing:
            self._signing = signing
            self._keys = [hmac_key(each.key_for(self.host)) for each in signing]
        return self._keys


class _Sendable(msgspec.Struct, frozen=True, gc=False):
    """A request that is ready to be written."""

    filled: _Filled
    data: bytes
    own: str
    """Rota's own values that must not show in what comes back, between blanks."""
    changes: int = 0
    """Of the signer, when it was made."""
    until: float = 0.0
    """By the loop's clock."""

    def is_clean(self, reply: Reply) -> bool:
        """Whether it is plain that the reply may be seen as it is."""
        return len(reply.body) <= LONG and not self.filled.watch.may_show(reply)

    async def redacted(self, reply: Reply, until: float) -> Reply:
        """The reply as it may be seen; TimeoutError when that takes too long."""
        own = Hidden(tuple(self.own.encode().split()))
        async with asyncio.timeout_at(until):
            return await redacted(reply, Hidden.all((self.filled.hidden, own)))

    def __repr__(self) -> str:
        return "_Sendable(…)"


def _signed(
    filled: _Filled, facts: CallFacts, keys: Sequence[SigningSecret], changes: int = 0
) -> _Sendable:
    """The request with its facts, signed at the time that they name."""
    lines = wire.header_lines(*facts.lines())
    token, at = facts.token or "", facts.sent_at
    if at is None:
        return _Sendable(filled, filled.frame.with_lines(lines), token, changes)
    frame = filled.frame
    webhook, call = signing.call_signatures(
        filled.keys(keys), frame.method, facts, frame.body, frame.digest
    )
    signatures = f"{SIGNATURE}: {webhook}\r\n{CALL_SIGNATURE}: {call}\r\n".encode("ascii")
    data = frame.with_lines(lines, signatures)
    return _Sendable(filled, data, f"{token} {webhook} {call}", changes)


def _prepare_later(ref: weakref.ref[HttpCall], at: float) -> None:
    call = ref()
    if call is not None:
        call.prepare_again(at)


class HttpCall:
    """One request, ready to be sent."""

    __slots__ = (
        *("__weakref__", "_caller", "_claim", "_definition", "_early", "_facts", "_is_early"),
        "_template",
    )

    def __init__(self, caller: HttpCaller, claim: Claim, schedule: Schedule) -> None:
        self._caller = caller
        self._claim = claim
        self._definition = schedule.definition
        self._template = caller.template(claim, schedule.definition)
        self._facts: CallFacts | None = None
        self._is_early = False
        self._early: _Sendable | None = None

    @property
    def shown(self) -> str:
        return self._template.template.shown(self.require_facts())

    def prepare(self, at: float) -> None:
        """Do all that can be done ahead, and have a connection opened right before `at`, which is
        its instant by the loop's clock."""
        caller, claim, definition = self._caller, self._claim, self._definition
        self._is_early = True
        try:
            facts = self._facts = caller.facts(claim, definition, claim.available_at)
            template = self._template.template
            place, _ = origin.split(template.request.url)
            if caller.signer is not None:
                caller.signer.warm(claim.tenant_id, template.secrets)
            self._prepare(facts, at)
        except Exception:  # noqa: BLE001 - what is wrong with it comes out when it is sent
            self._facts = None
            return
        caller.client.expect(self, (claim.tenant_id, place), at, once=self._is_once)

    def _prepare(self, facts: CallFacts, at: float) -> None:
        ready = self._sendable(facts, self._claim.available_at)
        if ready is not None:
            self._early = msgspec.structs.replace(ready, until=at + _GOOD_FOR)
            return
        loop = asyncio.get_running_loop()
        if loop.time() + _SECRETS_PAUSE < at:
            # Its secrets are being read. It may be withdrawn in the meantime, and gone.
            ref: weakref.ref[HttpCall] = weakref.ref(self)
            loop.call_later(_SECRETS_PAUSE, _prepare_later, ref, at)

    def prepare_again(self, at: float) -> None:
        """Now that its secrets may be known."""
        if self._early is not None or self._facts is None:
            return
        try:
            self._prepare(self._facts, at)
        except Exception:  # noqa: BLE001 - as above
            self._facts = None

    async def send(self, begin: Begin = always) -> Reply:
        try:
            # Not within the target's time: it is the database that is waited for, if anybody.
            ready = self._prepared_ahead() if self._is_early else None
            if ready is None:
                facts = self.require_facts()
                ready = self._sendable(facts) or await self._completed(facts)
            until = asyncio.get_running_loop().time() + self._definition.timeout_seconds
            reply = await self._answer(ready, begin, until)
            # What is said about a failure may quote what was sent: it is redacted as well.
            return reply if ready.is_clean(reply) else await ready.redacted(reply, until)
        except TimeoutError:
            timeout = self._definition.timeout_seconds
            return Reply(error=f"timed out after {timeout:g} s", timed_out=True)
        except Unsendable as error:
            return Reply(error=str(error), permanent=True, sent=False)
        except OperatorError as error:
            return Reply(error=str(error), sent=False)
        except TemporaryError:
            return WITHHELD
        except (CallFailed, ValueError) as error:
            # It could not be written as a request; what is said quotes nothing of it.
            return reply_to(error)

    def _prepared_ahead(self) -> _Sendable | None:
        """None when it could not be, or was too long ago or before a change of what is in it."""
        early, signer = self._early, self._caller.signer
        changes = 0 if signer is None else signer.changes
        if (
            early is not None
            and early.changes == changes
            and asyncio.get_running_loop().time() <= early.until
        ):
            return early
        # Its facts are those of the instant that it was prepared for.
        self._early = self._facts = None
        return None

    def _sendable(self, facts: CallFacts, at: datetime | None = None) -> _Sendable | None:
        """The request that is sent now, or at this instant, if all it takes is in memory."""
        signer, names = self._caller.signer, self._template.template.secrets
        if signer is None:
            return _signed(self._template.filled(()), facts, ())
        changes = signer.changes
        found = signer.known_credentials(
            self._claim.tenant_id, names, signed=facts.sent_at is not None, at=at
        )
        if found is None:
            return None
        return _signed(self._template.filled(found.secrets), facts, found.keys, changes)

    async def _completed(self, facts: CallFacts) -> _Sendable:
        """The request, when what it takes has been read."""
        signer, names = self._caller.signer, self._template.template.secrets
        assert signer is not None, "without one, nothing has to be read"
        found = await signer.credentials(
            self._claim.tenant_id, names, signed=facts.sent_at is not None
        )
        return _signed(self._template.filled(found.secrets), facts, found.keys)

    def require_facts(self) -> CallFacts:
        """What is said about the call."""
        facts = self._facts
        if facts is None:
            facts = self._facts = self._caller.facts(self._claim, self._definition)
        return facts

    @property
    def _is_once(self) -> bool:
        """Whether the target must never get it twice, whatever becomes of the connection."""
        return self._definition.delivery == "at_most_once"

    async def _answer(self, ready: _Sendable, begin: Begin, until: float) -> Reply:
        frame = ready.filled.frame
        try:
            return await self._caller.client.exchange(
                (self._claim.tenant_id, frame.origin),
                ready.data,
                is_head=frame.method == "HEAD",
                once=self._is_once,
                begin=begin,
                until=until,
            )
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - it may quote what was sent: redacted by `send`
            return reply_to(error)
