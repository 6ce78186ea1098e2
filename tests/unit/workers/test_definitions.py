"""Schedules by (schedule, version)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.unit.workers.made import SCHEDULE_ID, SLOT, claim, schedule

from rota.workers.definitions import Definitions

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


async def one(definitions: Definitions, **fields: Any) -> Schedule | str:
    each = claim(SLOT, **fields)
    return (await definitions.of(NO_TX, [each]))[each.id]


async def test_a_version_is_read_once() -> None:
    stored = Stored(schedule(version=2))
    definitions = Definitions(stored)
    for _ in range(3):
        assert await one(definitions, version=2) == schedule(version=2)
    assert stored.reads == 1


async def test_what_is_known_stays_true_after_an_edit() -> None:
    """The same firing sends the same request at every attempt (I6)."""
    stored = Stored(schedule(version=1))
    definitions = Definitions(stored)
    before = await one(definitions, version=1)
    stored.schedules[SCHEDULE_ID] = schedule(version=2, target_url="http://other.example/")
    assert await one(definitions, version=1) is before
    assert await one(definitions, version=2) == stored.schedules[SCHEDULE_ID]


async def test_a_version_that_is_gone_is_not_run_as_another() -> None:
    assert await one(Definitions(Stored(schedule(version=2))), version=1) == "edited"
    paused = Stored(schedule(version=2, status="paused"))
    assert await one(Definitions(paused), version=1) == "paused"
    assert await one(Definitions(Stored()), version=1) == "deleted"


async def test_a_schedule_that_completed_meanwhile_still_runs() -> None:
    done = schedule(version=2, status="completed")
    assert await one(Definitions(Stored(done)), version=1) == done
