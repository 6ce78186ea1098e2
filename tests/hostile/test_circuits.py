"""One tenant's failing calls do not close a host to the others."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.db.hosts_support import calling, fire_many, target, until, working
from tests.db.queue_support import SECOND, make_schedule

from rota.queue import circuits
from rota.queue.circuits import Rules
from rota.workers.events import FiringFinished
from rota.workers.hosts.events import CircuitOpened, FiringPostponed
from rota.workers.hosts.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Generator
    from uuid import UUID

    from rota.db import Database
    from rota.events import Recorder

# Open for as long as any of these tests takes: what is turned away does not come back.
LIMITS = Limits(circuit=Rules(failures=20, interval=300 * SECOND))


@contextmanager
def closed_port() -> Generator[str]:
    """A port that refuses connections: it is bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"


def succeeded(recorder: Recorder, tenant: UUID) -> int:
    ends = [each for each in recorder.all(FiringFinished) if each.tenant_id == tenant]
    assert {each.status for each in ends} <= {"succeeded"}
    return len(ends)


async def opened_by(recorder: Recorder, tenant: UUID) -> CircuitOpened:
    return await recorder.wait_for(CircuitOpened, where=lambda each: each.tenant_id == tenant)


async def test_short_timeouts_of_one_tenant_do_not_close_a_slow_host_to_another(
    db: Database,
) -> None:
    async with (
        target(well=True, wait=0.5 * SECOND) as slow,
        working(db, limits=LIMITS) as (_, recorder),
    ):
        hostile = await calling(db, slow, timeout_seconds=0.1, max_attempts=1)
        other = await calling(db, slow)
        await fire_many(db, hostile, 30)
        opened = await opened_by(recorder, hostile.tenant_id)
        assert (opened.host, opened.reach) == (slow.host, "tenant")
        await fire_many(db, other, 10)
        await until(lambda: succeeded(recorder, other.tenant_id) == 10, seconds=60)
        # Its own calls wait, as the calls of a tenant that is alone do.
        await fire_many(db, hostile, 3, available_in=SECOND)
        await until(lambda: len(recorder.all(FiringPostponed)) >= 3, seconds=60)
    assert {each.tenant_id for each in recorder.all(FiringPostponed)} == {hostile.tenant_id}


async def test_errors_that_one_tenant_sees_do_not_close_a_host_to_another(db: Database) -> None:
    """A path of its own that answers 503, with a Retry-After for everybody."""
    async with (
        target(retry_after="600") as sick,
        working(db, limits=LIMITS) as (worker, recorder),
    ):
        hostile = await calling(db, sick, max_attempts=1)
        await fire_many(db, hostile, 20)
        opened = await opened_by(recorder, hostile.tenant_id)
        assert opened.reach == "shared"
        assert worker._circuits.wide == {}
        sick.well = True
        other = await calling(db, sick)
        await fire_many(db, other, 10)
        await until(lambda: succeeded(recorder, other.tenant_id) == 10, seconds=60)


async def test_errors_that_two_tenants_see_close_a_host_to_all(db: Database) -> None:
    async with target() as sick, working(db, limits=LIMITS) as (worker, recorder):
        for _ in range(2):
            one = await calling(db, sick, max_attempts=1)
            await fire_many(db, one, 20)
            await opened_by(recorder, one.tenant_id)
        await until(lambda: sick.host in worker._circuits.wide, seconds=60)
        calls = sick.arrived
        third = await calling(db, sick)
        await fire_many(db, third, 5)
        await until(
            lambda: sum(e.tenant_id == third.tenant_id for e in recorder.all(FiringPostponed)) == 5,
            seconds=60,
        )
        assert sick.arrived == calls
        async with db.transaction() as tx:
            assert all(each.tenant_id != third.tenant_id for each in await circuits.read(tx))


async def test_a_port_that_refuses_one_tenant_is_closed_to_all(db: Database) -> None:
    """Who calls does not matter to a port where nobody listens."""
    with closed_port() as url:
        async with working(db, limits=LIMITS) as (worker, recorder):
            first = await make_schedule(db, target_url=url, max_attempts=1, overlap_policy="allow")
            await fire_many(db, first, 20)
            opened = await opened_by(recorder, first.tenant_id)
            assert opened.reach == "host"
            assert opened.host in worker._circuits.wide
            second = await make_schedule(db, target_url=url, overlap_policy="allow")
            await fire_many(db, second, 3)
            await until(lambda: len(recorder.all(FiringPostponed)) == 3, seconds=60)
