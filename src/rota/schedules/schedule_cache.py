"""Schedules by (id, version), kept in memory: one cache for schedulers and workers.

A version never changes once it is written, so what is cached stays true. A change of a calendar's
days makes a new version of every schedule that uses it.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota import timers
from rota.db import ONCE
from rota.schedules import definition as definitions
from rota.schedules import schedule as schedules
from rota.schedules.calendars import sql as calendars
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from rota.db import Database, Row, Tx
    from rota.queue import overlap
    from rota.queue.claim import Claim
    from rota.schedules.definition import MisfirePolicy
    from rota.schedules.schedule import Schedule
    from rota.triggers.trigger import Trigger

    Load = Callable[[Tx, Sequence[UUID]], Awaitable[Mapping[UUID, Schedule]]]
    """The schedules with these ids, as they are now."""

MAX_ENTRIES: Final = 50_000
MAX_BYTES: Final = 32 * 2**20
"""Of definitions as they are stored: one may have a payload of 256 kB, a tenant many of them."""
MIN_ENTRIES: Final = 4_000
"""Kept whatever their size: a pass reads what its two batches need, and then uses it. Evicted in
between, its timers would be read again in each pass and never fire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisfireRules:
    """What a schedule wants done with late slots."""

    policy: MisfirePolicy = "fire_late"
    cap: int = 10
    grace: timedelta = timedelta(seconds=60)
    window: timedelta = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSnapshot:
    """What firing needs to know of a schedule at one version."""

    schedule_id: UUID
    tenant_id: UUID
    version: int
    trigger: Trigger
    jitter: timedelta
    """A slot is due this long after itself: the schedule's stable offset."""
    misfire: MisfireRules
    overlap: overlap.Policy
    max_firings: int | None
    lane: str
    host: str | None
    priority: int

    @classmethod
    def of(cls, schedule: Schedule) -> ScheduleSnapshot:
        """Raises what is wrong with the schedule's trigger, if it cannot be read any more."""
        definition, trigger = schedule.definition, schedule.trigger
        return cls(
            schedule_id=schedule.id,
            tenant_id=schedule.tenant_id,
            version=schedule.version,
            trigger=trigger,
            jitter=timers.offset(schedule.id, definition.spread_window),
            misfire=MisfireRules(
                policy=definition.misfire_policy,
                cap=definition.misfire_cap,
                grace=definition.misfire_grace,
                window=definition.misfire_window,
            ),
            overlap=definition.overlap_policy,
            max_firings=trigger.max_firings if isinstance(trigger, Limited) else None,
            lane=definition.lane,
            host=definition.host,
            priority=definition.priority,
        )


LOAD: LiteralString = f"""
    SELECT {schedules.COLUMNS},
           c.name AS calendar, c.version AS calendar_version, c.days
      FROM schedules s
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.id = ANY ($1::uuid[])
"""


async def load(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Schedule]:
    """The schedules with these ids, of any tenant, as they are now."""
    return {row["id"]: _schedule(row) for row in await tx.fetch(LOAD, list(ids))}


def _schedule(row: Row) -> Schedule:
    name = row["calendar"]
    calendar = name and calendars.known(name, row["calendar_version"], row["days"])
    return schedules.of_row(row, calendar=calendar)


class _Entry:
    """A schedule, and what firing derives from it once it comes due here."""

    __slots__ = ("schedule", "size", "snapshot")

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.size = len(definitions.encode(schedule.definition))
        self.snapshot: ScheduleSnapshot | None = None


class ScheduleCache:
    """The schedules that were used last."""

    def __init__(
        self,
        load: Load = load,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        min_entries: int = MIN_ENTRIES,
    ) -> None:
        self._load = load
        self._min_entries = min_entries
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[UUID, int], _Entry] = OrderedDict()

    def missing(self, wanted: Iterable[tuple[UUID, int]]) -> list[UUID]:
        """The ids among these (id, version) pairs that have to be read."""
        return [key[0] for key in wanted if key not in self._entries]

    def snapshot(self, schedule_id: UUID, version: int) -> ScheduleSnapshot | None:
        """What firing needs of the schedule; None when that version is not cached.

        Raises what is wrong with the schedule's trigger, if it cannot be read any more.
        """
        key = (schedule_id, version)
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.snapshot is None:
            entry.snapshot = ScheduleSnapshot.of(entry.schedule)
        self._entries.move_to_end(key)
        return entry.snapshot

    async def refresh(self, db: Database, ids: Sequence[UUID]) -> dict[UUID, Exception]:
        """Read these in one round trip; returns those that cannot be understood, and why.

        One that has been edited or deleted in the meantime is not found at the timer's version:
        its timer has changed, too.
        """
        refused: dict[UUID, Exception] = {}
        for row in await db.fetch_alone(LOAD, list(ids), retry=ONCE):
            try:
                self._keep((row["id"], row["version"]), _schedule(row))
            except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
                refused[row["id"]] = error
        return refused

    async def of_claims(self, tx: Tx, claims: Iterable[Claim]) -> dict[UUID, Schedule | str]:
        """For each firing its schedule, or the reason not to run it."""
        claims = list(claims)
        asked = {(c.schedule_id, c.version) for c in claims}
        unknown = sorted(set(self.missing(asked)))
        present: Mapping[UUID, Schedule] = await self._load(tx, unknown) if unknown else {}
        if len(asked) == 1 and all(each.saga is None for each in claims):
            # Of one schedule, as of a task's runs: looked up once.
            return dict.fromkeys((each.id for each in claims), self._of(claims[0], present))
        return {each.id: self._of(each, present) for each in claims}

    def _of(self, claim: Claim, present: Mapping[UUID, Schedule]) -> Schedule | str:
        key = (claim.schedule_id, claim.version)
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
            return entry.schedule
        if claim.saga is not None:
            # It goes on as it began, and its row has all it needs for that (`sagas`).
            return present.get(claim.schedule_id, "deleted")
        schedule = present.get(claim.schedule_id)
        if schedule is None:
            return "deleted"
        if claim.triggered_by == "enqueue" and schedule.version != claim.version:
            # Entered by a transaction that was open while its task was edited, by a deployment for
            # example. It has its own payload, and the caller that committed it was promised a run.
            return schedule
        # That version is gone; running the current one would send another request under the same
        # idempotency key. Completion is the one change that leaves the definition as it was.
        if schedule.version != claim.version and schedule.status != "completed":
            return "paused" if schedule.status == "paused" else "edited"
        self._keep(key, schedule)
        return schedule

    def _keep(self, key: tuple[UUID, int], schedule: Schedule) -> None:
        entry, before = _Entry(schedule), self._entries.pop(key, None)
        self._entries[key] = entry
        self._bytes += entry.size - (before.size if before else 0)
        while self._is_full():
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.size

    def _is_full(self) -> bool:
        count = len(self._entries)
        if count > self._max_entries:
            return True
        return self._bytes > self._max_bytes and count > self._min_entries
