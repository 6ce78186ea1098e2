"""One tenant's calls and tasks that hang do not keep another tenant's from starting."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.hosts_support import CLOCK, MILLISECOND, target, until
from tests.db.queue_support import SECOND, fire, make_schedule, some_worker

from rota.events import Bus, Recorder
from rota.targets import OPEN
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import FiringStarted
from rota.workers.hosts.limits import Limits
from rota.workers.settings import WorkerSettings
from rota.workers.tasks.caller import TaskCaller
from rota.workers.tasks.registry import Registry, TaskSpec
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping
    from uuid import UUID

    from rota.db import Database
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Caller

PATIENCE = 60
SMALL = WorkerSettings(
    concurrency=16,
    prefetch=16,
    poll_interval=timedelta(milliseconds=20),
    stop_grace=timedelta(milliseconds=100),
)

_FIRE_MANY = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane, host)
    SELECT gen_random_uuid(), $1, $2, 1, a.at, a.at, 'waiting', 'schedule', $3, $4
      FROM generate_series(1, $5) AS n
     CROSS JOIN LATERAL (SELECT clock_timestamp() + $6::interval - n * interval '1 ms') AS a(at)
"""


async def fire_many(
    db: Database,
    schedule: Schedule,
    count: int,
    *,
    lane: str = "http",
    ahead: timedelta = timedelta(),
) -> None:
    async with db.transaction() as tx:
        host = schedule.definition.host
        await tx.execute(_FIRE_MANY, schedule.id, schedule.tenant_id, lane, host, count, ahead)


@contextmanager
def silent_ports(count: int) -> Generator[list[str]]:
    """Ports that take connections and never say anything."""
    with ExitStack() as stack:
        urls: list[str] = []
        for _ in range(count):
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
            urls.append(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        yield urls


@asynccontextmanager
async def working(
    db: Database, callers: Mapping[str, Caller], *, settings: WorkerSettings = SMALL, **fields: Any
) -> AsyncGenerator[tuple[Worker, Recorder]]:
    bus = Bus()
    recorder = Recorder(bus)
    async with Worker(
        db, id_=some_worker(), callers=callers, settings=settings, bus=bus, **fields
    ) as each:
        yield each, recorder


async def begins(recorder: Recorder, tenant: UUID) -> None:
    await recorder.wait_for(
        FiringStarted,
        where=lambda each: each.tenant_id == tenant,
        timeout=timedelta(seconds=PATIENCE),
    )


@pytest.mark.parametrize(
    "settings", [SMALL, WorkerSettings(stop_grace=timedelta(milliseconds=100))]
)
async def test_calls_to_silent_ports_leave_slots_for_another_tenant(
    db: Database, settings: WorkerSettings
) -> None:
    """More than there are slots, for ten minutes each, to seven ports: with the default too."""
    slots = settings.concurrency
    with silent_ports(7) as urls:
        async with target(well=True) as healthy, HttpCaller(OPEN) as http:
            first = await make_schedule(db, target_url=urls[0], timeout_seconds=600)
            hostile = [first] + [
                await make_schedule(
                    db, target_url=url, timeout_seconds=600, tenant_id=first.tenant_id
                )
                for url in urls[1:]
            ]
            other = await make_schedule(db, target_url=f"{healthy.url}/")
            for each in hostile:
                await fire_many(db, each, slots // 5)
            limits = Limits(concurrency=max(1, slots // 5))
            async with working(db, {"http": http}, settings=settings, limits=limits) as (
                worker,
                recorder,
            ):
                await until(lambda: worker.running == slots // 2)
                # In a moment, not now: claimed ahead, and begun at its instant.
                id_ = await fire(db, other, available_in=SECOND)
                await begins(recorder, other.tenant_id)
                assert worker.running <= slots // 2 + 1
                assert all(
                    each.tenant_id == other.tenant_id
                    for each in recorder.all(FiringStarted)
                    if each.firing_id == id_
                )


async def test_a_backlog_of_calls_that_hang_does_not_keep_others_from_being_claimed(
    db: Database,
) -> None:
    """Far more than a worker may hold, of two tenants that came one after the other."""
    with silent_ports(1) as (url,):
        async with target(well=True) as healthy, HttpCaller(OPEN) as http:
            hostile = [
                await make_schedule(db, target_url=url, timeout_seconds=600) for _ in range(2)
            ]
            other = await make_schedule(db, target_url=f"{healthy.url}/")
            limits = Limits(concurrency=0)
            async with working(db, {"http": http}, limits=limits) as (worker, recorder):
                for each in hostile:
                    await fire_many(db, each, 10 * SMALL.concurrency)
                    await begins(recorder, each.tenant_id)
                await until(lambda: worker.running > SMALL.concurrency // 2)
                await fire(db, other)
                await begins(recorder, other.tenant_id)
                assert worker.running <= SMALL.concurrency


async def test_a_herd_that_is_held_ahead_does_not_delay_another_tenants_instant(
    db: Database,
) -> None:
    with silent_ports(1) as (url,):
        async with target(well=True) as healthy, HttpCaller(OPEN) as http:
            herd = await make_schedule(db, target_url=url, timeout_seconds=600)
            other = await make_schedule(db, target_url=f"{healthy.url}/")
            settings = WorkerSettings(
                concurrency=16,
                prefetch=16,
                lead=60 * SECOND,
                stop_grace=timedelta(milliseconds=100),
                visibility=120 * SECOND,
            )
            await fire_many(db, herd, 1_000, ahead=40 * SECOND)
            async with working(db, {"http": http}, settings=settings) as (worker, recorder):
                await until(lambda: worker.held >= 8)
                before = worker.held
                await fire(db, other, available_in=5 * SECOND)
                # It is in the worker's hands before its instant, beside all that the herd has.
                await until(lambda: worker.held > before or bool(recorder.all(FiringStarted)))
                await begins(recorder, other.tenant_id)


async def test_a_single_tenant_has_all_slots(db: Database) -> None:
    with silent_ports(1) as (url,):
        async with HttpCaller(OPEN) as http:
            alone = await make_schedule(db, target_url=url, timeout_seconds=600)
            await fire_many(db, alone, 2 * SMALL.concurrency)
            limits = Limits(concurrency=0)
            async with working(db, {"http": http}, limits=limits) as (worker, _):
                await until(lambda: worker.running == SMALL.concurrency)


async def test_a_second_tenant_that_has_just_been_created_gets_the_next_free_slot(
    db: Database,
) -> None:
    async with target(well=True, wait=2 * SECOND) as slow, HttpCaller(OPEN) as http:
        alone = await make_schedule(db, target_url=f"{slow.url}/", overlap_policy="allow")
        await fire_many(db, alone, 200)
        limits = Limits(concurrency=0)
        async with working(db, {"http": http}, limits=limits) as (worker, recorder):
            await until(lambda: worker.running == SMALL.concurrency)
            second = await make_schedule(db, target_url=f"{slow.url}/")
            await fire(db, second)
            await begins(recorder, second.tenant_id)
            started = recorder.all(FiringStarted)
            before = [each.tenant_id for each in started].index(second.tenant_id)
            # Those that had begun, and what took the places of some until it was claimed.
            assert before <= 4 * SMALL.concurrency
            await until(lambda: worker.running <= SMALL.concurrency // 2 + 1)


released = threading.Event()


def hang_in_a_thread() -> None:
    released.wait(PATIENCE)


def return_at_once() -> None:
    pass


def hang_in_a_process() -> None:
    threading.Event().wait(PATIENCE)


async def test_plain_functions_that_hang_leave_threads_for_another_tenant(db: Database) -> None:
    released.clear()
    registry = Registry()
    registry.add(TaskSpec.of(hang_in_a_thread, name="hang"))
    registry.add(TaskSpec.of(return_at_once, name="quick"))
    hostile = await make_schedule(db, target_url=None, job_type="hang")
    other = await make_schedule(db, target_url=None, job_type="quick")
    await fire_many(db, hostile, 40, lane="default")
    caller = TaskCaller(registry, concurrency=SMALL.concurrency)
    try:
        async with working(db, {"default": caller}) as (worker, recorder):
            await until(lambda: worker.running == SMALL.concurrency // 2)
            await fire(db, other, lane="default", available_in=SECOND)
            await begins(recorder, other.tenant_id)
            released.set()
    finally:
        released.set()
        caller.close()


async def test_tasks_that_hang_in_processes_leave_one_for_another_tenant(db: Database) -> None:
    registry = Registry()
    registry.add(TaskSpec.of(hang_in_a_process, name="hang", runs_in="process"))
    registry.add(TaskSpec.of(return_at_once, name="quick", runs_in="process"))
    hostile = await make_schedule(db, target_url=None, job_type="hang")
    other = await make_schedule(db, target_url=None, job_type="quick")
    await fire_many(db, hostile, 6, lane="default")
    caller = TaskCaller(registry, concurrency=SMALL.concurrency, processes=2)
    try:
        async with working(db, {"default": caller}) as (worker, _):
            await until(lambda: worker.running == 6)
            id_ = await fire(db, other, lane="default")
            # It ends: it had a child of its own, beside all that hang.
            await _succeeded(db, id_)
    finally:
        caller.close()


async def _succeeded(db: Database, id_: UUID) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            async with db.transaction() as tx:
                status = await tx.fetch_value("SELECT status FROM firings WHERE id = $1", id_)
            if status is not None:
                assert status == "succeeded"
                return
            await CLOCK.sleep(20 * MILLISECOND)
