"""`/v1/queues/{queue}/claim`: work for whoever asks, in any language (AP, QW).

What is claimed is reported on with its token (`completing`). Nothing is handed out before its
instant, and nothing of another tenant ever.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, post

from rota.api import access, bodies, views
from rota.api.engine import Engine
from rota.api.events import FiringsPulled
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, Once, asked, response
from rota.api.problems import bad_field
from rota.api.saying import says
from rota.clock import set_or_late
from rota.db import Tx
from rota.queue.complete import Settlement, settle
from rota.queue.external_claims import Pulled, Tokens, next_in, pull
from rota.queue.heartbeat import release
from rota.queue.states import WITHDRAW_REASONS
from rota.schedules.schedule import Schedule
from rota.targets import TaskTarget
from rota.tenants.tenant import Tenant
from rota.time_slicer import Steps
from rota.workers import sagas
from rota.workers.delivery import message
from rota.workers.delivery.call_facts import idempotency_key

MAX_LIMIT = 100
MAX_WAIT = 30
VISIBILITY = 60
MIN_VISIBILITY, MAX_VISIBILITY = 5, 3600
_MAX_NAME = 100
_NOW = timedelta()
_FEW = 2
"""Definitions that are read at once: each may have a payload of 256 kB."""


class ClaimFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much work, how long to wait for it, and for how long it is the worker's.

    `limit` from 1 to 100; `wait` from 0 to 30 seconds; `visibility` from 5 to 3,600 seconds, which
    extend prolongs; `worker` is a name for people.
    """

    limit: Annotated[int, says(minimum=1, maximum=MAX_LIMIT)] = 1
    wait: Annotated[float, says(minimum=0, maximum=MAX_WAIT)] = 0
    visibility: Annotated[float, says(minimum=MIN_VISIBILITY, maximum=MAX_VISIBILITY)] = VISIBILITY
    worker: Annotated[str, says(minLength=1, maxLength=_MAX_NAME)] | None = None


class ClaimedFiring(views.Firing, frozen=True, kw_only=True):
    """A firing to work on, and the token to report on it with."""

    token: str
    claimed_until: datetime
    """Somebody else may have it after that, unless it is extended, completed or failed."""
    queue: str
    job_type: str
    payload: msgspec.Raw
    idempotency_key: str
    """The same for every attempt."""
    schedule_key: str
    max_attempts: int
    timeout_seconds: float
    deadline: datetime
    """By when the schedule expects this attempt to be over."""
    fence: int | None = None


class ClaimResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was claimed, in the order in which it should be begun; empty when nothing waits."""

    items: list[ClaimedFiring]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    engine: Engine
    tenant: Tenant
    queue: str
    limit: int
    wait: timedelta
    visibility: timedelta
    name: str | None
    keyed: Once | None
    """What the request is known by when it comes again."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What there was, or how long it makes sense to wait before the next look."""

    found: list[tuple[Pulled, ClaimedFiring]]
    again_in: timedelta | None = None
    answer: Response[bytes] | None = None
    """What was found, or was the last time the request came."""


@post("/v1/queues/{queue:str}/claim", status_code=200, opt=access.needs("write"))
async def claim_firings(
    request: AnyRequest, engine: TheEngine, caller: Caller, queue: Named
) -> Response[bytes]:
    """Take work of a queue, at once or as soon as there is some.

    With an Idempotency-Key, what was claimed is answered again; that there was nothing is not.
    """
    given = await bodies.read_as(request, ClaimFields, optional=True)
    # The tokens in the answer are good for whoever has them: kept, they are sealed.
    credential = request.headers.get("authorization", "")
    keyed = await asked(request, caller.tenant.id, sealed_with=credential)
    ask = _ask(engine, caller.tenant, queue, given, keyed)
    look = await _look(ask)
    if look.answer is None and ask.wait > _NOW:
        look = await _wait(ask, request, look)
    if look.found:
        count = len(look.found)
        engine.bus.publish(
            FiringsPulled(tenant_id=caller.tenant.id, queue=queue, count=count, worker=ask.name)
        )
    return look.answer or response(Done(ClaimResult(items=[])))


ROUTES = (claim_firings,)


async def _wait(ask: _Ask, request: AnyRequest, look: _Look) -> _Look:
    """Look again at news, from time to time and when the next is due, until the time is up."""
    engine, polls = ask.engine, ask.engine.polls
    ends_at = engine.clock.monotonic() + ask.wait.total_seconds()
    with polls.waiting(ask.tenant.id, ask.queue) as bell:
        left = asyncio.create_task(_hung_up(request))
        left.add_done_callback(lambda _: bell.set())
        try:
            while look.answer is None:
                rest = timedelta(seconds=ends_at - engine.clock.monotonic())
                if rest <= _NOW or left.done() or polls.is_closed or engine.is_stopping():
                    return look
                pause = min(filter(None, (rest, polls.interval, look.again_in)))
                await set_or_late(bell, pause, engine.clock)
                if left.done() or polls.is_closed:
                    return look
                # Before the look: what comes while we look rings it again.
                bell.clear()
                look = await _look(ask)
            if left.done() and look.found:
                await _give_back(ask, look)
        finally:
            left.cancel()
    return look


async def _hung_up(request: AnyRequest) -> None:
    """Return when the caller is gone. The body has been read: nothing else is to come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _look(ask: _Ask) -> _Look:
    engine = ask.engine
    tokens = Tokens(await engine.vault.known_token_key(engine.db))

    async def work(tx: Tx) -> _Look:
        earlier = await ask.keyed.earlier(tx) if ask.keyed else None
        if earlier is not None:
            return _Look([], answer=earlier)
        look = await claim(tx)
        if not look.found:
            if ask.keyed:
                await ask.keyed.give_up(tx)
            return look
        done = Done(ClaimResult(items=[item for _, item in look.found]))
        answer = await ask.keyed.keep(tx, done) if ask.keyed else response(done)
        return replace(look, answer=answer)

    async def claim(tx: Tx) -> _Look:
        pulled = await pull(
            tx,
            ask.tenant.id,
            ask.queue,
            engine.polls.worker,
            limit=ask.limit,
            visibility=ask.visibility,
            name=ask.name,
        )
        if not pulled:
            return _Look([], await next_in(tx, ask.tenant.id, ask.queue))
        known: dict[UUID, Schedule | str] = {}
        for at in range(0, len(pulled), _FEW):
            few = [each.claim for each in pulled[at : at + _FEW]]
            known |= await engine.polls.cache.of_claims(tx, few)
        steps = _sorted(pulled, known, tokens)
        found, ended = await engine.slicer.run(ask.tenant.id, steps)
        if ended:
            await settle(tx, engine.polls.worker, ended)
        # When all of it was to be ended, there may be more behind.
        return _Look(found, None if found else timedelta(milliseconds=1))

    return await engine.db.run(work, tenant=ask.tenant.id)


async def _give_back(ask: _Ask, look: _Look) -> None:
    """The caller has hung up: what it would have got is somebody else's, at once."""
    claims = [each.claim for each, _ in look.found]

    async def work(tx: Tx) -> None:
        await release(tx, ask.engine.polls.worker, claims)
        if ask.keyed:
            await ask.keyed.give_up(tx)

    await ask.engine.db.run(work, repeatable=True, tenant=ask.tenant.id)


def _sorted(
    pulled: Sequence[Pulled], known: Mapping[UUID, Schedule | str], tokens: Tokens
) -> Steps[tuple[list[tuple[Pulled, ClaimedFiring]], list[Settlement]]]:
    """What there is to work on, and what is to be ended."""
    found: list[tuple[Pulled, ClaimedFiring]] = []
    ended: list[Settlement] = []
    for each in pulled:
        one = _judged(each, known[each.claim.id])
        if isinstance(one, Settlement):
            ended.append(one)
        else:
            found.append((one[0], _view(*one, tokens)))
        yield
    return found, ended


def _judged(pulled: Pulled, known: Schedule | str) -> tuple[Pulled, Schedule] | Settlement:
    """What there is to work on, as its step has it if it has steps; or its end."""
    claim, schedule = sagas.at_step(pulled.claim, known)
    one = Pulled(claim, pulled.at)
    if isinstance(schedule, str):
        return _end(one, claim.cancel_reason or schedule)
    if claim.cancel_reason is not None:
        return sagas.carry_on(_end(one, claim.cancel_reason), schedule)
    return one, schedule


def _end(pulled: Pulled, reason: str) -> Settlement:
    """Not to be begun any more: taken back, or cancelled, while it waited."""
    claim = pulled.claim
    skipped = reason in WITHDRAW_REASONS and claim.attempt == 1
    return Settlement(
        claim=claim,
        started_at=None,
        finished_at=pulled.at,
        status="skipped" if skipped else "cancelled",
        reason=reason,
    )


def _view(pulled: Pulled, schedule: Schedule, tokens: Tokens) -> ClaimedFiring:
    claim, definition = pulled.claim, schedule.definition
    return ClaimedFiring(
        id=views.firing_id(claim.id),
        schedule_id=views.schedule_id(claim.schedule_id),
        scheduled_for=claim.scheduled_for,
        status="running",
        attempt=claim.attempt,
        triggered_by=claim.triggered_by,
        catch_up=claim.catch_up,
        started_at=pulled.at,
        replay_of=None if claim.replay_of is None else views.firing_id(claim.replay_of),
        token=tokens.token(claim.id, claim.attempt),
        claimed_until=claim.claimed_until,
        queue=claim.lane,
        job_type=definition.job_type or "",
        payload=msgspec.Raw(message.payload(claim, definition)),
        idempotency_key=idempotency_key(claim, definition),
        schedule_key=schedule.key,
        max_attempts=definition.max_attempts,
        timeout_seconds=definition.timeout_seconds,
        deadline=pulled.at + definition.timeout,
        fence=claim.fence,
    )


def _ask(
    engine: Engine, tenant: Tenant, queue: str, given: ClaimFields, keyed: Once | None
) -> _Ask:
    TaskTarget.read("x", queue)  # refuses what no queue of tasks can be called
    _within("limit", given.limit, 1, MAX_LIMIT)
    _within("wait", given.wait, 0, MAX_WAIT)
    _within("visibility", given.visibility, MIN_VISIBILITY, MAX_VISIBILITY)
    name = given.worker
    if name is not None and not (1 <= len(name) <= _MAX_NAME and name.isprintable()):
        raise bad_field("worker", f"expected a name of 1 to {_MAX_NAME} visible characters")
    return _Ask(
        engine=engine,
        tenant=tenant,
        queue=queue,
        limit=given.limit,
        wait=timedelta(seconds=given.wait),
        visibility=timedelta(seconds=given.visibility),
        name=name,
        keyed=keyed,
    )


def _within(field: str, value: float, low: int, high: int) -> None:
    if not low <= value <= high:
        raise bad_field(field, f"expected a number from {low} to {high}, got {value:g}")
