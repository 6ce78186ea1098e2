"""A worker is fair between tenants: one tenant's backlog is not the others' wait."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from tests.db.queue_support import make_schedule, some_worker
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.workers.caller import Begin, Reply, always
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from uuid import UUID

    from rota.db import Database
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule

MILLISECOND = timedelta(milliseconds=1)
SETTINGS = WorkerSettings(concurrency=40, prefetch=80, poll_interval=50 * MILLISECOND)

_FIRE_MANY = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane)
    SELECT gen_random_uuid(), $1, $2, 1, a.at, a.at, 'waiting', 'schedule', 'http'
      FROM generate_series(1, $3) AS n
     CROSS JOIN LATERAL (SELECT clock_timestamp() - n * interval '1 ms') AS a(at)
"""


class Slow:
    """Calls that take a while, and remember whose they were, in the order of their beginning.

    So long a while that the worker does not do enough to hold more than it was given (`prefetch`).
    """

    shown = None

    def __init__(self, call_time: timedelta = 25 * MILLISECOND) -> None:
        self.begun: list[UUID] = []
        self._call_time = call_time
        self._clock = SystemClock()
        self._more = asyncio.Event()

    def prepare(self, claim: Claim, schedule: Schedule) -> Slow:
        assert claim.tenant_id == schedule.tenant_id
        self.begun.append(claim.tenant_id)
        self._more.set()
        return self

    async def send(self, begin: Begin = always) -> Reply:
        await self._clock.sleep(self._call_time)
        return Reply(code=200)

    async def until_begun(self, count: int, *, of: set[UUID] | None = None, since: int = 0) -> None:
        """Return when so many have begun, of these tenants."""
        async with asyncio.timeout(patience(60)):
            seen, at = 0, since
            while True:
                seen += sum(of is None or each in of for each in islice(self.begun, at, None))
                at = len(self.begun)
                if seen >= count:
                    return
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def working(
    db: Database, caller: Slow, settings: WorkerSettings = SETTINGS
) -> AsyncGenerator[Worker]:
    async with Worker(db, id_=some_worker(), callers={"http": caller}, settings=settings) as worker:
        yield worker


async def waiting(db: Database, count: int, *tenants: Schedule) -> None:
    async with db.transaction() as tx:
        for each in tenants:
            await tx.execute(_FIRE_MANY, each.id, each.tenant_id, count)


async def weigh(db: Database, schedule: Schedule, weight: int) -> None:
    async with db.transaction() as tx:
        await tx.execute("UPDATE tenants SET weight = $2 WHERE id = $1", schedule.tenant_id, weight)


def ranks(begun: list[UUID], of: set[UUID]) -> dict[UUID, list[int]]:
    """For each tenant: after how many beginnings of anybody its own came."""
    found: dict[UUID, list[int]] = {each: [] for each in of}
    for rank, each in enumerate(begun, 1):
        if each in of:
            found[each].append(rank)
    return found


async def test_nine_tenants_beside_a_backlog_start_as_if_they_were_alone(db: Database) -> None:
    """TN1, S12: one has 100,000 firings waiting, nine come with 100 each."""
    backlog = await make_schedule(db)
    nine = [await make_schedule(db) for _ in range(9)]
    ids = {each.tenant_id for each in nine}
    caller = Slow()
    async with working(db, caller):
        await waiting(db, 100, *nine)
        await caller.until_begun(900)
        alone = ranks(caller.begun, ids)

        await waiting(db, 100_000, backlog)
        await caller.until_begun(500, of={backlog.tenant_id})
        came = len(caller.begun)
        await waiting(db, 100, *nine)
        await caller.until_begun(900, of=ids, since=came)
    begun = caller.begun[came:]
    # From the first of the nine on: how soon they are seen at all is a matter of the poll. What
    # the worker had taken before they came is begun among the first of them.
    first = next(n for n, each in enumerate(begun) if each in ids)
    beside = ranks(begun[first:], ids)
    had = SETTINGS.concurrency + SETTINGS.prefetch
    for each in ids:
        pairs = zip(alone[each], beside[each], strict=True)
        late = [(a, b) for a, b in pairs if b > 2 * a + had]
        assert not late, late[:5]
    assert max(max(each) for each in beside.values()) <= 2 * 900


async def test_a_weight_of_three_gets_three_times_a_weight_of_one(db: Database) -> None:
    """TN3: within a tenth, of all that two workers begin."""
    heavy, light = await make_schedule(db), await make_schedule(db)
    await weigh(db, heavy, 3)
    await waiting(db, 5_000, heavy, light)
    caller = Slow()
    async with working(db, caller), working(db, caller):
        await caller.until_begun(2_000)
    begun = Counter(caller.begun[:2_000])
    assert 2.7 <= begun[heavy.tenant_id] / begun[light.tenant_id] <= 3.3


async def test_shares_hold_for_a_worker_with_one_hand(db: Database) -> None:
    heavy, light = await make_schedule(db), await make_schedule(db)
    await weigh(db, heavy, 3)
    await waiting(db, 500, heavy, light)
    caller = Slow(MILLISECOND)
    settings = WorkerSettings(concurrency=1, prefetch=0, poll_interval=50 * MILLISECOND)
    async with working(db, caller, settings):
        await caller.until_begun(80)
    begun = Counter(caller.begun[:80])
    assert 2.7 <= begun[heavy.tenant_id] / begun[light.tenant_id] <= 3.3


async def test_who_comes_while_slow_calls_have_their_share_is_let_in(db: Database) -> None:
    """A tenant's calls hang, and its backlog takes all the places it may have."""
    hung, quick = await make_schedule(db), await make_schedule(db)
    await waiting(db, 1_000, hung)
    caller = Hanging(hung.tenant_id)
    share = SETTINGS.concurrency // 2
    places = SETTINGS.concurrency + SETTINGS.prefetch + SETTINGS.prefetch // 4
    async with working(db, caller) as worker:
        await caller.until_begun(share)
        await caller.eventually(lambda: worker.held == places // 2)
        await waiting(db, 60, quick)
        # All of them begin, and none of the slow calls has to end for that.
        await caller.until_begun(60, of={quick.tenant_id})
        assert Counter(caller.begun)[hung.tenant_id] == share
        assert worker.held <= places
        caller.let_go(10_000)


class Hanging(Slow):
    """Calls of one tenant that do not end until they are let go."""

    def __init__(self, tenant: UUID) -> None:
        super().__init__(MILLISECOND)
        self.clock = SystemClock()
        self._tenant = tenant
        self._gate = asyncio.Semaphore(0)

    def prepare(self, claim: Claim, schedule: Schedule) -> Slow:
        call = super().prepare(claim, schedule)
        return _Hung(self) if claim.tenant_id == self._tenant else call

    async def eventually(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(patience(30)):
            while not is_so():
                await self.clock.sleep(MILLISECOND)

    def let_go(self, count: int) -> None:
        for _ in range(count):
            self._gate.release()

    async def hang(self) -> Reply:
        await self._gate.acquire()
        return Reply(code=200)


class _Hung(Slow):
    def __init__(self, caller: Hanging) -> None:
        super().__init__()
        self._caller = caller

    async def send(self, begin: Begin = always) -> Reply:
        return await self._caller.hang()
