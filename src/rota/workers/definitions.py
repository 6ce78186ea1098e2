"""Schedules as they were when they fired, kept by (schedule, version)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, LiteralString

from rota.schedules import sql as schedules

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule

    Load = Callable[[Tx, Sequence[UUID]], Awaitable[Mapping[UUID, Schedule]]]
    """The schedules with these ids, as they are now."""

MAX_KEPT: Final = 20_000

_LOAD: LiteralString = """
    SELECT id, tenant_id, key, name, status, version, shard, anchor_at,
           definition::text AS definition, created_at, updated_at
      FROM schedules
     WHERE id = ANY ($1::uuid[])
"""


async def load(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Schedule]:
    """The schedules with these ids, of whatever tenant, as they are now."""
    return {row["id"]: schedules.of_row(row) for row in await tx.fetch(_LOAD, list(ids))}


class Definitions:
    """A cache: a schedule's version never changes, so what is known stays true."""

    def __init__(self, load: Load = load) -> None:
        self._load = load
        self._kept: OrderedDict[tuple[UUID, int], Schedule] = OrderedDict()

    async def of(self, tx: Tx, claims: Iterable[Claim]) -> dict[UUID, Schedule | str]:
        """For each firing its schedule, or the reason for which it is not to be run."""
        claims = list(claims)
        asked = {(c.schedule_id, c.version) for c in claims}
        unknown = {id_ for id_, version in asked if (id_, version) not in self._kept}
        present: Mapping[UUID, Schedule] = {}
        if unknown:
            present = await self._load(tx, sorted(unknown))
        if len(asked) == 1 and all(each.saga is None for each in claims):
            # Of one schedule, as of a task's runs: looked up once.
            return dict.fromkeys((each.id for each in claims), self._one(claims[0], present))
        return {each.id: self._one(each, present) for each in claims}

    def _one(self, claim: Claim, present: Mapping[UUID, Schedule]) -> Schedule | str:
        if claim.saga is not None:
            # It goes on as it began, and has all it needs for that (`sagas`).
            return present.get(claim.schedule_id, "deleted")
        key = (claim.schedule_id, claim.version)
        schedule = self._kept.get(key)
        if schedule is not None:
            self._kept.move_to_end(key)
            return schedule
        schedule = present.get(claim.schedule_id)
        if schedule is None:
            return "deleted"
        if claim.triggered_by == "enqueue" and schedule.version != claim.version:
            # Entered by a transaction that was open while its task was edited, in a deploy say. It
            # has a payload of its own, and whoever committed that was promised a run.
            return schedule
        # What it was at that version is gone; running what it is now would send another request
        # under the same idempotency key. Completion is the one change that leaves it as it was.
        if schedule.version != claim.version and schedule.status != "completed":
            return "paused" if schedule.status == "paused" else "edited"
        self._keep(key, schedule)
        return schedule

    def _keep(self, key: tuple[UUID, int], schedule: Schedule) -> None:
        self._kept[key] = schedule
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
