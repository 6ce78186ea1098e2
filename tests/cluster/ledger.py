"""The account of a schedule: every slot it should have had, and what became of each (I1, I2, I3).

Slots are worked out here from what the schedule's owner asked for, by arithmetic or by the oracle;
no line is shared with the engine that is held to account.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.oracle import clock, cron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from uuid import UUID

    from rota.db import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the database says became of a slot, or of a run of slots."""

    id: UUID
    schedule_id: UUID
    version: int
    scheduled_for: datetime
    last_slot_at: datetime | None
    slot_count: int
    status: str
    """Of a firing that has ended, or the state of a live one."""
    reason: str | None
    triggered_by: str
    catch_up: bool
    live: bool

    @property
    def what(self) -> str:
        return self.status if self.reason is None else f"{self.status}: {self.reason}"


# One statement, so that a firing that ends meanwhile is seen in one place, not in both or none.
_ENTRIES = """
    SELECT id, schedule_id, version, scheduled_for, last_slot_at, slot_count, status, reason,
           triggered_by, catch_up, false AS live
      FROM firings
     UNION ALL
    SELECT id, schedule_id, version, scheduled_for, NULL, 1, state, cancel_reason,
           triggered_by, catch_up, true
      FROM queue
"""


async def entries(db: Database) -> dict[UUID, list[Entry]]:
    """All that is recorded, by schedule, in the order of the slots."""
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch(_ENTRIES)
    found: defaultdict[UUID, list[Entry]] = defaultdict(list)
    for row in rows:
        entry = Entry(**dict(row.items()))
        found[entry.schedule_id].append(entry)
    for each in found.values():
        each.sort(key=lambda entry: entry.scheduled_for)
    return found


@dataclass
class Account:
    """What is wrong with a schedule's entries, and how its slots are explained."""

    unexplained: list[datetime] = field(default_factory=list[datetime])
    twice: list[datetime] = field(default_factory=list[datetime])
    phantoms: list[Entry] = field(default_factory=list[Entry])
    miscounted: list[Entry] = field(default_factory=list[Entry])
    explained: Counter[str] = field(default_factory=Counter[str])

    @property
    def is_sound(self) -> bool:
        return not (self.unexplained or self.twice or self.phantoms or self.miscounted)


def account(
    required: Sequence[datetime],
    found: Iterable[Entry],
    *,
    allowed: Callable[[Entry], bool] = lambda _: False,
) -> Account:
    """Hold the entries against the slots that must have exactly one each.

    An entry for any other slot is a phantom unless it is `allowed`; even then it is one of its own.
    """
    slots = sorted(required)
    result = Account()
    seen: Counter[datetime] = Counter()
    for entry in found:
        if entry.triggered_by != "schedule":
            continue
        covered = _covered(slots, entry)
        if len(covered) != entry.slot_count:
            if not covered and allowed(entry):
                covered = [entry.scheduled_for]
            else:
                (result.miscounted if covered else result.phantoms).append(entry)
        seen.update(covered)
        result.explained[entry.what] += len(covered)
    result.unexplained = [slot for slot in slots if not seen[slot]]
    result.twice = [slot for slot, count in seen.items() if count > 1]
    return result


def _covered(slots: list[datetime], entry: Entry) -> list[datetime]:
    first, last = entry.scheduled_for, entry.last_slot_at or entry.scheduled_for
    return slots[bisect_left(slots, first) : bisect_right(slots, last)]


def every(period: timedelta, anchor: datetime) -> Callable[[datetime, datetime], list[datetime]]:
    """The anchor and every period after it."""

    def slots(after: datetime, until: datetime) -> list[datetime]:
        first = max(0, (after - anchor) // period + 1)
        last = (until - anchor) // period
        return [anchor + period * number for number in range(first, last + 1)]

    return slots


def by_cron(text: str, zone: str) -> Callable[[datetime, datetime], list[datetime]]:
    """By the oracle."""
    expression, wall = cron.expression(text), clock.clock(zone)

    def slots(after: datetime, until: datetime) -> list[datetime]:
        start, end = clock.epoch(after) + 1, clock.epoch(until) + 1
        return [clock.utc(each) for each in cron.slots(expression, wall, start, end)]

    return slots


def once(instant: datetime) -> Callable[[datetime, datetime], list[datetime]]:
    """One slot."""

    def slots(after: datetime, until: datetime) -> list[datetime]:
        return [instant] if after < instant <= until else []

    return slots
