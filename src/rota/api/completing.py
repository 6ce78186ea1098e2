"""`/v1/firings/{id}/complete`, `/fail` and `/extend`: whoever does a firing's work speaks of it.

The attempt's token is the authority, not a key: a target has been sent it, and nobody else has it.
Who does not hold a token of the firing learns nothing, not even whether there is such a firing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

import msgspec
from litestar import Response, post

from rota import ids
from rota.api import access, bodies, models, views
from rota.api.claiming import VISIBILITY
from rota.api.engine import Engine
from rota.api.events import WorkReported
from rota.api.given import AnyRequest, Named, TheEngine
from rota.api.once import HEADER, Done, Once, asked, response
from rota.api.problems import Refused, bad_field
from rota.db import Tx
from rota.history import queries
from rota.queue.complete import Settlement, settle
from rota.queue.external_claims import ExternalClaim, Tokens, claimed, keep
from rota.queue.states import WITHDRAW_REASONS
from rota.schedules import schedule as schedules
from rota.schedules import schedule_cache
from rota.schedules.definition import ASYNC_TIMEOUT_SECONDS
from rota.schedules.schedule import Schedule
from rota.schedules.values import wrong_with_json
from rota.targets.task import RESERVED_QUEUES
from rota.workers import completing, sagas
from rota.workers.caller import Reply
from rota.workers.delivery.call_facts import TOKEN_HEADER
from rota.workers.delivery.reported import without_secrets

MAX_RESULT = 64 * 1024
_MAX_ERROR = 2_000
_MAX_SECONDS = 7 * 86_400
_LAST_ATTEMPT = 1_200
"""More than a firing ever has: those of twenty steps, and of what undoes them, included."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What is answered, and what there is to tell others."""

    answer: models.Completion
    event: WorkReported | None = None
    too_late: str | None = None
    """Why it is refused all the same, when what was done stays done."""


_PATH = "/v1/firings/{firing_id:str}"


@post(f"{_PATH}/complete", status_code=200, opt=access.PUBLIC)
async def complete_firing(
    request: AnyRequest, engine: TheEngine, firing_id: Named
) -> Response[bytes]:
    """The work is done; the result is kept with the firing."""
    given = await bodies.read_as(request, models.CompleteFields, optional=True)
    result = _result(given.result)
    token = given.token or request.headers.get(TOKEN_HEADER)

    async def work(tx: Tx) -> _Said:
        held, schedule = await _stepped(tx, await _held(tx, engine, firing_id, token))
        seen = result and await without_secrets(tx, engine.vault, held.claim, schedule, result)
        done = completing.completed(held, seen, now=await schedules.now(tx))
        return await _settled(tx, held, sagas.carry_on(done, schedule))

    return await _once(request, engine, firing_id, token, work)


@post(f"{_PATH}/fail", status_code=200, opt=access.PUBLIC)
async def fail_firing(request: AnyRequest, engine: TheEngine, firing_id: Named) -> Response[bytes]:
    """The work has failed: it is tried again as its schedule says, unless that is no use."""
    given = await bodies.read_as(request, models.FailFields, optional=True)
    if given.error is not None and len(given.error) > _MAX_ERROR:
        message = f"expected at most {_MAX_ERROR} characters, got {len(given.error)}"
        raise bad_field("error", message)
    token = given.token or request.headers.get(TOKEN_HEADER)
    reply = Reply(error=given.error or "the target reported a failure", permanent=not given.retry)

    async def work(tx: Tx) -> _Said:
        held, schedule = await _stepped(tx, await _held(tx, engine, firing_id, token))
        error = await without_secrets(tx, engine.vault, held.claim, schedule, reply.error or "")
        seen = msgspec.structs.replace(reply, error=error)
        failed = completing.failed(held, schedule, seen, now=await schedules.now(tx))
        return await _settled(tx, held, sagas.carry_on(failed, schedule))

    return await _once(request, engine, firing_id, token, work)


@post(f"{_PATH}/extend", status_code=200, opt=access.PUBLIC)
async def extend_firing(
    request: AnyRequest, engine: TheEngine, firing_id: Named
) -> Response[bytes]:
    """The work takes longer: it has this long from now, or as long as it had anyway.

    A firing that was cancelled meanwhile is a 409 that says so: stop working on it.
    """
    given = await bodies.read_as(request, models.ExtendFields, optional=True)
    seconds = given.seconds
    if seconds is not None and not 1 <= seconds <= _MAX_SECONDS:
        raise bad_field("seconds", f"expected a number from 1 to {_MAX_SECONDS}, got {seconds:g}")
    token = given.token or request.headers.get(TOKEN_HEADER)

    async def work(tx: Tx) -> _Said:
        held = await _held(tx, engine, firing_id, token)
        claim = held.claim
        # While a worker of ours still waits for the answer, its heartbeat keeps the claim.
        if not held.is_detached and claim.lane in RESERVED_QUEUES:
            return _Said(_running(held, claim.claimed_until))
        reason = claim.cancel_reason
        if reason is not None and reason not in WITHDRAW_REASONS:
            # This is how whoever does the work learns of it: it ends here, and is theirs no more.
            held, schedule = await _stepped(tx, held)
            ended = completing.cancelled(held, reason, now=await schedules.now(tx))
            await settle(tx, held.worker, [sagas.carry_on(ended, schedule)])
            too_late = f"the firing has ended; it is cancelled: {reason}"
            return _Said(_running(held, claim.claimed_until), too_late=too_late)
        length = timedelta(seconds=seconds or await _usual(tx, held))
        return _Said(_running(held, await keep(tx, held, length)))

    return await _once(request, engine, firing_id, token, work)


ROUTES = (complete_firing, fail_firing, extend_firing)


async def _once(
    request: AnyRequest,
    engine: Engine,
    firing_id: str,
    token: str | None,
    work: Callable[[Tx], Awaitable[_Said]],
) -> Response[bytes]:
    """Do the work, or find that it was done under the same Idempotency-Key, and say so."""

    async def carried_out(tx: Tx) -> tuple[Response[bytes], _Said | None]:
        keyed = await _keyed(tx, request, engine, firing_id, token)
        earlier = await keyed.earlier(tx) if keyed else None
        if earlier is not None:
            return earlier, None
        said = await work(tx)
        done = Done(said.answer)
        if keyed is None:
            return response(done), said
        if said.too_late is None:
            return await keyed.keep(tx, done), said
        await keyed.give_up(tx)
        return response(done), said

    answer, said = await engine.db.run(carried_out)
    access.vouch(request)
    if said is not None and said.event is not None:
        engine.bus.publish(said.event)
    if said is not None and said.too_late is not None:
        raise _too_late(said.too_late)
    return answer


async def _keyed(
    tx: Tx, request: AnyRequest, engine: Engine, firing_id: str, token: str | None
) -> Once | None:
    """The request's Idempotency-Key, in a space of the attempt's own: a token is not a tenant."""
    if request.headers.get(HEADER) is None:
        return None
    id_, attempt = await _meant(tx, engine, firing_id, token)
    firing = await queries.find(tx, id_)
    if firing is None:
        raise _forbidden()
    return await asked(request, firing.tenant_id, space=f"{id_} {attempt}")


async def _meant(tx: Tx, engine: Engine, firing_id: str, token: str | None) -> tuple[UUID, int]:
    """The firing and the attempt that the token is of, whether there is such a one or not."""
    id_ = _id(firing_id)
    if id_ is None or token is None or not engine.vault.is_on:
        raise _forbidden()
    tokens = Tokens(await engine.vault.token_key(tx))
    attempt = tokens.attempt_of(token, id_, last=_LAST_ATTEMPT)
    if attempt is None:
        raise _forbidden()
    return id_, attempt


async def _held(tx: Tx, engine: Engine, firing_id: str, token: str | None) -> ExternalClaim:
    """The claim that the token is of; one and the same refusal for whoever has none of its."""
    # Before any row is looked for: strangers learn nothing, and lock nothing.
    id_, attempt = await _meant(tx, engine, firing_id, token)
    held = await claimed(tx, id_)
    if held is not None and held.claim.attempt == attempt:
        # Now it is known whose it is: what follows is held to that tenant.
        await tx.hold_to(held.claim.tenant_id)
        return held
    found = await queries.find(tx, id_)
    if found is None or attempt > max(found.attempt, 1):
        raise _forbidden()
    if held is not None:
        now = held.claim.attempt
        raise _too_late(f"expected the token of attempt {now}, got that of attempt {attempt}")
    if found.is_live:
        raise _too_late(f"attempt {found.attempt} is over; the firing is {found.status}")
    why = f": {found.reason}" if found.reason else ""
    raise _too_late(f"the firing has ended; it is {found.status}{why}")


async def _settled(tx: Tx, held: ExternalClaim, settlement: Settlement) -> _Said:
    await settle(tx, held.worker, [settlement])
    status, retry_at = settlement.status, settlement.retry_at
    if retry_at is not None and held.claim.cancel_reason is not None:
        status, retry_at = "cancelled", None
    goes_on = settlement.step is not None and settlement.step.state is not None
    claim, became = held.claim, status or ("waiting" if goes_on else "retrying")
    answer = models.Completion(
        id=views.firing_id(claim.id), attempt=claim.attempt, status=became, retry_at=retry_at
    )
    event = WorkReported(
        firing_id=claim.id, tenant_id=claim.tenant_id, attempt=claim.attempt, status=became
    )
    return _Said(answer, event)


def _running(held: ExternalClaim, until: datetime) -> models.Completion:
    return models.Completion(
        id=views.firing_id(held.claim.id),
        attempt=held.claim.attempt,
        status="running",
        until=until,
    )


async def _usual(tx: Tx, held: ExternalClaim) -> float:
    """For how many seconds it is extended unless its worker says otherwise."""
    if not held.is_detached:
        return VISIBILITY
    _, schedule = await _stepped(tx, held)
    return schedule.definition.async_timeout_seconds if schedule else ASYNC_TIMEOUT_SECONDS


async def _stepped(tx: Tx, held: ExternalClaim) -> tuple[ExternalClaim, Schedule | None]:
    """The claim and its schedule; of one that goes through steps, as its step has them."""
    id_ = held.claim.schedule_id
    known = (await schedule_cache.load(tx, [id_])).get(id_)
    claim, schedule = sagas.at_step(held.claim, known)
    return replace(held, claim=claim), schedule


def _id(text: str) -> UUID | None:
    try:
        return ids.from_text(ids.Kind.FIRING, text)
    except ids.InvalidId:
        return None


def _result(value: Any) -> str | None:
    if value is None:
        return None
    wrong = wrong_with_json(value)
    encoded = b"" if wrong else msgspec.json.encode(value)
    if len(encoded) > MAX_RESULT:
        wrong = f"expected at most {MAX_RESULT // 1024} kB of JSON, got {len(encoded)} bytes"
    if wrong:
        raise bad_field("result", wrong)
    return encoded.decode()


def _forbidden() -> Refused:
    return Refused(
        HTTPStatus.FORBIDDEN,
        "expected the Rota-Token that was sent with this firing's attempt, got none or another",
    )


def _too_late(detail: str) -> Refused:
    return Refused(HTTPStatus.CONFLICT, detail)
