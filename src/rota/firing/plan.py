"""What should happen to one due timer. Pure: values in, a value out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from rota.firing import misfire
from rota.queue import overlap
from rota.queue.overlap import Entry

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.schedules.schedule_cache import ScheduleSnapshot

_TICK: Final = timedelta(microseconds=1)


class Due(NamedTuple):
    """A timer as it was read: all that must still be so when it is advanced.

    Read by the thousand, in the order of the statement's columns.
    """

    schedule_id: UUID
    shard: int
    scheduled_for: datetime
    due_at: datetime
    version: int
    fired: int
    revision: int
    live: int
    """How many firings of the schedule are in the queue; no more than `overlap.MOST_LIVE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A run of slots that end here and now, as one row."""

    first: datetime
    last: datetime
    count: int
    status: Literal["skipped", "missed"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What happens to a timer, if it still is as it was read."""

    due: Due
    snapshot: ScheduleSnapshot
    fire: tuple[datetime, ...]
    """The slots that enter the queue, in their order."""
    catch_up: bool
    entry: Entry
    """How the first of them enters."""
    chained: bool
    """Each of them waits for the one before."""
    records: tuple[Record, ...]
    following: datetime | None
    """The timer's next slot; None when the schedule is completed."""

    @property
    def last_slot(self) -> datetime:
        """The last slot it deals with; when there is none, right before the timer's own slot."""
        slots = (*self.fire[-1:], *(each.last for each in self.records))
        return max(slots, default=self.due.scheduled_for - _TICK)

    @property
    def following_due_at(self) -> datetime | None:
        return None if self.following is None else self.following + self.snapshot.jitter


def plan(due: Due, snapshot: ScheduleSnapshot, *, now: datetime) -> Plan | None:
    """What becomes of the timer at `now` (the database's); None to look again at its due instant.

    The timer may be read ahead of time. If an earlier firing is live then, whether the two overlap
    is only known at the due instant.
    """
    ahead = due.due_at > now
    if overlap.needs_second_look(snapshot.overlap, live=due.live, ahead=ahead):
        return None
    remaining = None if snapshot.max_firings is None else snapshot.max_firings - due.fired
    if remaining is not None and remaining < 1:
        return _end(due, snapshot)
    verdict = misfire.decide(
        snapshot.trigger,
        first=due.scheduled_for,
        now=now,
        # The timer's own, in case the schedule's was another when it was armed.
        jitter=due.due_at - due.scheduled_for,
        rules=snapshot.misfire,
        remaining=remaining,
    )
    fire, records = verdict.fire, _missed(verdict.missed)
    entry = overlap.entry(snapshot.overlap, live=due.live, catch_up=verdict.catch_up)
    if not fire:
        # Nothing enters, so nothing may be cancelled for its sake.
        entry = Entry.READY
    if entry is Entry.SKIPPED:
        records += (_skipped(fire, overlap.reason(snapshot.overlap)),)
        fire = ()
    done = remaining is not None and len(fire) >= remaining
    return Plan(
        due=due,
        snapshot=snapshot,
        fire=fire,
        catch_up=verdict.catch_up,
        entry=entry,
        # Slots that came due together did not overlap by themselves: their runs must not either.
        chained=len(fire) > 1 and (verdict.catch_up or snapshot.overlap != "allow"),
        records=records,
        following=None if done else verdict.following,
    )


def _end(due: Due, snapshot: ScheduleSnapshot) -> Plan:
    """Nothing more may be fired: the limit was lowered, or the last firing was long ago."""
    return Plan(
        due=due,
        snapshot=snapshot,
        fire=(),
        catch_up=False,
        entry=Entry.READY,
        chained=False,
        records=(),
        following=None,
    )


def _missed(missed: misfire.Missed | None) -> tuple[Record, ...]:
    if missed is None:
        return ()
    record = Record(
        first=missed.first,
        last=missed.last,
        count=missed.count,
        status="missed",
        reason=missed.reason,
    )
    return (record,)


def _skipped(slots: tuple[datetime, ...], reason: str) -> Record:
    return Record(first=slots[0], last=slots[-1], count=len(slots), status="skipped", reason=reason)
