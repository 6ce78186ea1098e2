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
        unknown = {c.schedule_id for c in claims if (c.schedule_id, c.version) not in self._kept}
        present: Mapping[UUID, Schedule] = {}
        if unknown:
            present = await self._load(tx, sorted(unknown))
        return {each.id: self._one(each, present) for each in claims}

    def _one(self, claim: Claim, present: Mapping[UUID, Schedule]) -> Schedule | str:
        key = (claim.schedule_id, claim.version)
        schedule = self._kept.get(key)
        if schedule is not None:
            self._kept.move_to_end(key)
            return schedule
        schedule = present.get(claim.schedule_id)
        if schedule is None:
            return "deleted"
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
