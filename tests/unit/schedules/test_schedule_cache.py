"""Schedules by (schedule, version)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.unit.workers.made import SCHEDULE_ID, SLOT, claim, schedule

from rota.schedules.schedule_cache import ScheduleCache, ScheduleSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule

NO_TX = cast("Tx", None)


class Stored:
    """The schedules there are, and how often they were read."""

    def __init__(self, *schedules: Schedule) -> None:
        self.schedules = {each.id: each for each in schedules}
        self.reads = 0

    async def __call__(self, _: Tx, ids: Sequence[UUID]) -> dict[UUID, Schedule]:
        self.reads += 1
        return {id_: self.schedules[id_] for id_ in ids if id_ in self.schedules}


async def one(cache: ScheduleCache, **fields: Any) -> Schedule | str:
    each = claim(SLOT, **fields)
    return (await cache.of_claims(NO_TX, [each]))[each.id]


async def test_a_version_is_read_once() -> None:
    stored = Stored(schedule(version=2))
    cache = ScheduleCache(stored)
    for _ in range(3):
        assert await one(cache, version=2) == schedule(version=2)
    assert stored.reads == 1


async def test_what_is_known_stays_true_after_an_edit() -> None:
    """The same firing sends the same request at every attempt."""
    stored = Stored(schedule(version=1))
    cache = ScheduleCache(stored)
    before = await one(cache, version=1)
    stored.schedules[SCHEDULE_ID] = schedule(version=2, target_url="http://other.example/")
    assert await one(cache, version=1) is before
    assert await one(cache, version=2) == stored.schedules[SCHEDULE_ID]


async def test_a_version_that_is_gone_is_not_run_as_another() -> None:
    assert await one(ScheduleCache(Stored(schedule(version=2))), version=1) == "edited"
    paused = Stored(schedule(version=2, status="paused"))
    assert await one(ScheduleCache(paused), version=1) == "paused"
    assert await one(ScheduleCache(Stored()), version=1) == "deleted"


async def test_a_schedule_that_completed_meanwhile_still_runs() -> None:
    done = schedule(version=2, status="completed")
    assert await one(ScheduleCache(Stored(done)), version=1) == done


async def test_firing_uses_what_a_worker_has_read() -> None:
    stored = Stored(schedule(version=2))
    cache = ScheduleCache(stored)
    wanted = [(SCHEDULE_ID, 2)]
    assert cache.missing(wanted) == [SCHEDULE_ID]
    assert cache.snapshot(SCHEDULE_ID, 2) is None
    await one(cache, version=2)
    assert cache.missing(wanted) == []
    assert cache.missing([(SCHEDULE_ID, 3)]) == [SCHEDULE_ID]
    snapshot = cache.snapshot(SCHEDULE_ID, 2)
    assert snapshot == ScheduleSnapshot.of(schedule(version=2))
    assert cache.snapshot(SCHEDULE_ID, 2) is snapshot


async def test_those_that_were_not_used_for_longest_make_room() -> None:
    stored = Stored()
    cache = ScheduleCache(stored, max_entries=2)
    for version in (1, 2):
        stored.schedules[SCHEDULE_ID] = schedule(version=version)
        await one(cache, version=version)
    cache.snapshot(SCHEDULE_ID, 1)
    stored.schedules[SCHEDULE_ID] = schedule(version=3)
    await one(cache, version=3)
    kept = [version for version in (1, 2, 3) if not cache.missing([(SCHEDULE_ID, version)])]
    assert kept == [1, 3]


async def test_large_definitions_make_room_sooner_but_never_those_of_one_pass() -> None:
    stored = Stored()
    cache = ScheduleCache(stored, max_bytes=4_000, min_entries=3)
    for version in range(1, 6):
        stored.schedules[SCHEDULE_ID] = schedule(version=version, payload={"p": "x" * 2_000})
        await one(cache, version=version)
    assert cache.missing((SCHEDULE_ID, version) for version in range(1, 6)) == [SCHEDULE_ID] * 2
    for version in range(6, 12):
        stored.schedules[SCHEDULE_ID] = schedule(version=version)
        await one(cache, version=version)
    # With one large one left, there is room for more than three.
    kept = [each for each in range(1, 12) if not cache.missing([(SCHEDULE_ID, each)])]
    assert kept == list(range(5, 12))
