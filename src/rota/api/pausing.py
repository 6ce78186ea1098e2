"""`/v1/pause` and `/v1/resume`: all of a tenant's schedules, or those of a tag, at once.

A call works for a few seconds and then says that there is `more`: the same call again goes on. So
nobody waits for an answer that a proxy would not wait for, and a call that broke off is repeated.
"""

from collections.abc import Awaitable
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final, Protocol
from uuid import UUID

import msgspec
from litestar import Response, post

from rota.api import access, bodies
from rota.api.engine import Engine
from rota.api.events import SchedulesPaused, SchedulesResumed
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, Once, asked, kept_afterwards
from rota.api.saying import says
from rota.db import Tx
from rota.schedules import bulk_pause
from rota.schedules import schedule as schedules
from rota.schedules.bulk_pause import BatchResult, PauseRequest
from rota.schedules.pause import MAX_REASON, check_future, one_line
from rota.tenants.request_pace import TooManyRequests
from rota.tenants.tenant import Principal

BUDGET: Final = timedelta(seconds=8)
"""How long a call works before it says that there is more."""
_MAX_TAG: Final = 200


class PauseOneFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why, and until when (an instant; it resumes by itself)."""

    reason: Annotated[str, says(minLength=1, maxLength=MAX_REASON)] | None = None
    until: Annotated[datetime, says(format="date-time")] | None = None


class PauseFields(PauseOneFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why, until when (an instant; they resume by themselves), and of which tag alone."""

    tag: Annotated[str, says(minLength=1, maxLength=_MAX_TAG)] | None = None


class ResumeFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which tag alone."""

    tag: Annotated[str, says(minLength=1, maxLength=_MAX_TAG)] | None = None


class PauseResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many were paused, and how many that were so already have the new reason and end."""

    paused: int
    renewed: int
    more: bool
    """There are others: the same call again goes on."""


class ResumeResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many run again, and how many had no slot left and are completed."""

    resumed: int
    completed: int
    more: bool
    """There are others: the same call again goes on."""


@post("/v1/pause", status_code=200, opt=access.needs("write"))
async def pause_all(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Pause every active schedule, or those of a tag, together."""
    given = await bodies.read_as(request, PauseFields, optional=True)
    reason, tag = _line("reason", given.reason, MAX_REASON), _line("tag", given.tag, _MAX_TAG)
    keyed = await asked(request, caller.tenant.id)
    if (earlier := await _earlier(engine, keyed)) is not None:
        return earlier
    if given.until is not None:
        await _check_future(engine, given.until)
    wanted = PauseRequest(tenant_id=caller.tenant.id, tag=tag, reason=reason, until=given.until)
    ends_at = engine.clock.monotonic() + BUDGET.total_seconds()
    # Before the others are paused, which need none of it.
    renewed = await _in_parts(engine, caller, bulk_pause.renew_some, wanted, ends_at)
    paused = await _in_parts(engine, caller, bulk_pause.pause_some, wanted, ends_at)
    engine.bus.publish(SchedulesPaused(tenant_id=wanted.tenant_id, tag=tag, count=paused.changed))
    result = PauseResult(
        paused=paused.changed,
        renewed=renewed.changed,
        more=renewed.last is not None or paused.last is not None,
    )
    return await kept_afterwards(engine, keyed, Done(result))


@post("/v1/resume", status_code=200, opt=access.needs("write"))
async def resume_all(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Resume those that were paused together; what people paused by themselves stays so."""
    given = await bodies.read_as(request, ResumeFields, optional=True)
    tag = _line("tag", given.tag, _MAX_TAG)
    keyed = await asked(request, caller.tenant.id)
    if (earlier := await _earlier(engine, keyed)) is not None:
        return earlier
    wanted = PauseRequest(tenant_id=caller.tenant.id, tag=tag)
    ends_at = engine.clock.monotonic() + BUDGET.total_seconds()
    done = await _in_parts(engine, caller, bulk_pause.resume_some, wanted, ends_at)
    engine.bus.publish(SchedulesResumed(tenant_id=wanted.tenant_id, tag=tag, count=done.changed))
    result = ResumeResult(
        resumed=done.changed, completed=done.completed, more=done.last is not None
    )
    return await kept_afterwards(engine, keyed, Done(result))


ROUTES = (pause_all, resume_all)


async def _earlier(engine: Engine, keyed: Once | None) -> Response[bytes] | None:
    """What was answered to the same request before."""
    if keyed is None:
        return None
    return await engine.db.run(keyed.found, read_only=True, tenant=keyed.tenant_id)


class _Step(Protocol):
    """One batch of work."""

    def __call__(self, tx: Tx, request: PauseRequest, *, after: UUID) -> Awaitable[BatchResult]: ...


async def _in_parts(
    engine: Engine, caller: Principal, step: _Step, wanted: PauseRequest, ends_at: float
) -> BatchResult:
    """Batch after batch until nothing is left or the time is up; each is committed by itself."""
    changed = completed = 0
    after = bulk_pause.START
    while True:
        # Made twice it does no more than once: what is done is not found again.
        part = await engine.db.run(
            partial(step, request=wanted, after=after),
            repeatable=True,
            tenant=wanted.tenant_id,
            actor=caller.actor,
        )
        changed += part.changed
        completed += part.completed
        if part.last is None or engine.clock.monotonic() >= ends_at:
            return BatchResult(changed, part.last, completed)
        try:
            await engine.charge(caller.tenant, items=bulk_pause.BATCH)
        except TooManyRequests:
            # What is done is done; the same call again goes on when the tenant may.
            return BatchResult(changed, part.last, completed)
        after = part.last


async def _check_future(engine: Engine, until: datetime) -> None:
    check_future(until, await engine.db.run(schedules.now, read_only=True))


def _line(field: str, text: str | None, most: int) -> str | None:
    """One line of text, or None."""
    return None if text is None else one_line(field, text, most)
