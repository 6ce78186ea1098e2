"""A tenant's captures have a byte budget for each day: beyond it, excerpts are kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from tests.db.completer_support import completing
from tests.db.queue_support import (
    attempt_rows,
    ended,
    fire,
    make_schedule,
    some_worker,
    take,
)
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.events import Bus, Recorder
from rota.history import queries
from rota.queue import capture_usage
from rota.queue.complete import AttemptRecord, settle
from rota.service import ServiceFailed
from rota.watch.watchdog import Watchdog
from rota.workers.delivery.capture import CUT_MARK, EXCERPT, MAX_CUT
from rota.workers.delivery.capture_budget import MEGABYTE, CaptureBudget
from rota.workers.events import WorkerTroubled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Database, Row
    from rota.queue.complete import Settlement
    from rota.schedules.schedule import Schedule

REQUEST = '{"method": "POST", "url": "http://a.example/", "headers": {"A": "b"}, "body": "%s"}'


async def _answered(
    db: Database, schedule: Schedule, count: int, **fields: Any
) -> list[Settlement]:
    """So many claims of the schedule, each answered with half a megabyte."""
    worker = fields.pop("worker")
    for _ in range(count):
        await fire(db, schedule, **fields)
    size = MEGABYTE // 2
    tried = AttemptRecord(
        outcome="succeeded",
        request=REQUEST % ("x" * 1000),
        response_headers='[["a", "b"]]',
        response_body=b"y" * size,
    )
    lanes = (fields.get("lane", "http"),)
    return [ended(each, tried=tried, code=200) for each in await take(db, worker, lanes=lanes)]


async def _recorded(db: Database, worker: UUID, batch: Sequence[Settlement]) -> None:
    async with db.transaction() as tx:
        assert len((await settle(tx, worker, batch)).accepted) == len(batch)


def _budget(db: Database, megabytes: int | None) -> CaptureBudget:
    default = None if megabytes is None else megabytes * MEGABYTE
    return CaptureBudget(db, SystemClock(), default=default)


def _cut(batch: Sequence[Settlement]) -> list[bool]:
    return [each.tried is not None and CUT_MARK in (each.tried.request or "") for each in batch]


async def _usage(db: Database) -> list[Row]:
    async with db.transaction() as tx:
        return await tx.fetch("SELECT * FROM capture_usage")


async def test_beyond_the_budget_attempts_are_kept_as_excerpts(db: Database) -> None:
    worker, schedule = some_worker(), await make_schedule(db)
    budget = _budget(db, 2)
    batch = await budget.admit(await _answered(db, schedule, 6, worker=worker))
    assert _cut(batch) == [False, False, False, True, True, True]
    await _recorded(db, worker, batch)
    rows = await attempt_rows(db)
    sizes = sorted(len(row["response_body"]) for row in rows)
    assert sizes == [EXCERPT] * 3 + [MEGABYTE // 2] * 3
    cut = next(row for row in rows if len(row["response_body"]) == EXCERPT)
    kept = msgspec.json.decode(cut["request"])
    assert kept == {"method": "POST", "url": "http://a.example/", "body": "x" * 500, CUT_MARK: True}
    async with db.transaction() as tx:
        firing = await queries.find(tx, cut["firing_id"])
        assert firing is not None
        (attempt,) = await queries.attempts(tx, firing)
    assert attempt.capture_cut is True
    assert attempt.request is not None
    assert CUT_MARK not in attempt.request


async def test_what_is_short_enough_is_kept_whole_at_any_time(db: Database) -> None:
    worker, schedule = some_worker(), await make_schedule(db)
    budget = _budget(db, 1)
    await budget.admit(await _answered(db, schedule, 2, worker=worker))
    await fire(db, schedule)
    (claim,) = await take(db, worker)
    short = AttemptRecord(
        outcome="succeeded", request=REQUEST % "", response_body=b"y" * (MAX_CUT - 200)
    )
    (admitted,) = await budget.admit([ended(claim, tried=short)])
    assert admitted.tried is short


async def test_workers_count_together_and_each_tenant_for_itself(db: Database) -> None:
    one, two = some_worker(), some_worker()
    schedule, other = await make_schedule(db), await make_schedule(db)
    first, second = _budget(db, 2), _budget(db, 2)
    assert _cut(await first.admit(await _answered(db, schedule, 3, worker=one))) == [False] * 3
    await first.count()
    # Another worker that has never seen this tenant reads what was kept so far.
    assert _cut(await second.admit(await _answered(db, schedule, 1, worker=two))) == [True]
    assert _cut(await second.admit(await _answered(db, other, 1, worker=two))) == [False]
    await second.count()
    usage = {row["tenant_id"]: row for row in await _usage(db)}
    assert usage[schedule.tenant_id]["cut"] == 1
    assert usage[schedule.tenant_id]["bytes"] > 1.5 * MEGABYTE
    assert usage[other.tenant_id]["cut"] == 0


async def test_a_tenant_may_have_a_budget_of_its_own(db: Database) -> None:
    worker, schedule = some_worker(), await make_schedule(db)
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE tenants SET capture_budget_mb = 1 WHERE id = $1", schedule.tenant_id
        )
    unlimited = _budget(db, None)
    batch = await unlimited.admit(await _answered(db, schedule, 3, worker=worker))
    assert _cut(batch) == [False, True, True]
    # A new budget is in force with the next count.
    async with db.transaction() as tx:
        await tx.execute("UPDATE tenants SET capture_budget_mb = NULL")
    await unlimited.count()
    batch = await unlimited.admit(await _answered(db, schedule, 3, worker=worker))
    assert _cut(batch) == [False] * 3


async def test_the_result_of_a_task_is_never_cut(db: Database) -> None:
    """Somebody waits for it; a failed task's traceback is cut like any answer."""
    worker, schedule = some_worker(), await make_schedule(db, job_type="t", target_url=None)
    budget = _budget(db, 1)
    batch = await _answered(db, schedule, 4, worker=worker, lane="default")
    assert _cut(await budget.admit(batch)) == [False] * 4
    failed = [msgspec.structs.replace(each, status="dead") for each in batch]
    assert _cut(await budget.admit(failed)) == [False, True, True, True]


async def test_workers_that_count_at_once_do_not_wait_for_those_that_record(db: Database) -> None:
    """Recording holds no lock on the count: one that hangs in the middle holds up nobody."""
    worker, schedule = some_worker(), await make_schedule(db)
    budget = _budget(db, 1)
    batch = await budget.admit(await _answered(db, schedule, 3, worker=worker))
    async with db.transaction() as tx:
        await settle(tx, worker, batch)
        async with asyncio.timeout(patience(60)):
            await budget.count()
    ((row),) = await _usage(db)
    assert row["cut"] == 2


async def test_many_workers_lose_no_count(db: Database) -> None:
    tenants = [(await make_schedule(db)).tenant_id for _ in range(5)]
    async with db.transaction() as tx:
        day = await tx.fetch_value("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")

    async def count(each: int) -> None:
        order = tenants if each % 2 else tenants[::-1]
        for _ in range(10):
            await db.run(
                lambda tx: capture_usage.add(tx, [(day, tenant, 1, 0) for tenant in order])
            )

    await asyncio.gather(*(count(each) for each in range(4)))
    assert [row["bytes"] for row in await _usage(db)] == [40] * 5


async def test_a_finisher_keeps_to_the_budget_and_its_owner_gets_one_alert_a_day(
    db: Database,
) -> None:
    worker, schedule = some_worker(), await make_schedule(db)
    bus = Bus()
    recorder = Recorder(bus)
    watchdog = Watchdog(db, bus, SystemClock())
    async with completing(db, worker, bus, capture_budget=1 * MEGABYTE) as completer:
        for _ in range(2):
            for each in await _answered(db, schedule, 3, worker=worker):
                now = each.claim.available_at
                completer.add(msgspec.structs.replace(each, finished_at=now))
            await completer.drained()
            await watchdog.run_once()
    assert len(await attempt_rows(db)) == 6
    assert sum(len(row["response_body"]) for row in await attempt_rows(db)) < MEGABYTE
    async with db.transaction() as tx:
        rows = await tx.fetch("SELECT * FROM alerts WHERE kind = 'capture'")
    (alert,) = rows
    assert alert["tenant_id"] == schedule.tenant_id
    assert alert["closed_at"] is None
    assert "only excerpts are kept" in alert["detail"]
    assert recorder.all(WorkerTroubled) == []
    assert recorder.all(ServiceFailed) == []
