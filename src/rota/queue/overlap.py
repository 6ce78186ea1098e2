"""What a firing does while another firing of its schedule has not ended: the one decision.

For slots as they come due, manual runs, replays, backfills and dependents alike. A firing counts as
live once it has reached its instant. One that was prepared for a slot to come is not running: what
enters before that instant does not wait for it, is not skipped for it and does not cancel it. The
slot goes back to its timer instead, and is decided at its instant (`schedules.prepared`).
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, LiteralString
from uuid import UUID

from rota.db import locks
from rota.queue import record, withdraw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.db import Row, Tx

Policy = Literal["skip", "queue", "cancel_previous", "allow"]
State = Literal["waiting", "blocked", "skipped"]
"""What becomes of a firing that enters: a row of the queue, or one that was skipped."""

MOST_LIVE: Final = 100
"""With so many live firings no further one is queued behind them: a schedule whose runs take
longer than its period would fill the database, and never come to an end."""

OVERLAP: Final = "overlap"
"""The reason of a firing that was skipped for another one, or cancelled for it."""

QUEUE_FULL: Final = "overlap_queue_full"


class Entry(enum.Enum):
    """How a firing enters the queue."""

    READY = "ready"
    """It waits for a worker only."""
    BLOCKED = "blocked"
    """It is blocked until what is live has ended."""
    SKIPPED = "skipped"
    """It does not enter: it is recorded as skipped."""
    REPLACE = "replace"
    """What is live is cancelled; it is blocked until that has ended."""


def entry(policy: Policy, *, live: int, catch_up: bool = False) -> Entry:
    """How the firings of a schedule enter, given how many earlier ones are live.

    The catch-up firings of an outage run one after another whatever the policy: it applies to slots
    as they come due, and they did not come due one by one.
    """
    if not live or policy == "allow":
        return Entry.READY
    if catch_up or (policy == "queue" and live < MOST_LIVE):
        return Entry.BLOCKED
    return Entry.REPLACE if policy == "cancel_previous" else Entry.SKIPPED


def reason(policy: Policy) -> str:
    """Why a firing of such a schedule was skipped."""
    return QUEUE_FULL if policy == "queue" else OVERLAP


def needs_second_look(policy: Policy, *, live: int, ahead: bool) -> bool:
    """Whether it is too early to decide: what is live now may have ended at the due instant."""
    return live > 0 and ahead and policy != "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What a schedule has in the queue."""

    count: int = 0
    """Firings that have reached their instant and have not ended."""
    is_running: bool = False
    """One of them is under way: an end of it has to be waited for."""
    prepared: tuple[UUID, ...] = ()
    """Firings of slots to come, which no worker holds."""
    held: tuple[UUID, ...] = ()
    """Firings of slots to come that a worker holds, and can be asked back."""
    is_held: bool = False
    """A worker holds a firing ahead of its instant, asked back or not. It may begin until it has
    given it back, so what enters now is blocked until then."""


IDLE: Final = Live()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What some schedules have in the queue at an instant."""

    at: datetime | None = None
    """By the database's clock, once all rows were read; None when there are none."""
    schedules: Mapping[UUID, Live] = field(default_factory=dict[UUID, Live])

    def of(self, schedule_id: UUID) -> Live:
        return self.schedules.get(schedule_id, IDLE)


_ROWS: LiteralString = """
        SELECT q.id, q.schedule_id, q.state, q.triggered_by, q.saga, q.attempt, q.began_at,
               q.available_at, q.cancel_reason
          FROM queue q
         WHERE q.schedule_id = ANY ($1::uuid[])
"""

# The clock is read once all rows are there: a lock may have been waited for. What a program has
# enqueued for later neither counts nor is it held for the schedule: it asks for no decision.
_SUMMED: LiteralString = (
    """, clock AS MATERIALIZED (
        SELECT clock_timestamp() AS now, count(*) FROM rows
    ), judged AS MATERIALIZED (
        SELECT q.*, clock.now, """
    + withdraw.unreached("clock.now")
    + """ AS unreached
          FROM rows q
         CROSS JOIN clock
    ), ahead AS MATERIALIZED (
        SELECT j.* FROM judged j
         WHERE j.unreached AND j.triggered_by = 'schedule' AND j.cancel_reason IS NULL
    )
    SELECT j.schedule_id, max(j.now) AS now,
           count(*) FILTER (WHERE NOT j.unreached) AS count,
           coalesce(bool_or(j.state = 'running' OR j.saga IS NOT NULL)
                    FILTER (WHERE NOT j.unreached), false) AS is_running,
           coalesce(bool_or(j.state = 'running' AND j.triggered_by <> 'enqueue')
                    FILTER (WHERE j.unreached), false) AS is_held,
           ARRAY(SELECT a.id FROM ahead a
                  WHERE a.schedule_id = j.schedule_id AND a.state = 'waiting') AS prepared,
           ARRAY(SELECT a.id FROM ahead a
                  WHERE a.schedule_id = j.schedule_id AND a.state = 'running') AS held
      FROM judged j
     GROUP BY j.schedule_id
"""
)

# Until the transaction ends no worker claims, ends or frees one of these, and none is added by
# others, who would need the timer or the schedule; but a program that enqueues needs neither. In
# the order of `db.locks`.
_LOCK_LIVE: LiteralString = (
    "WITH rows AS MATERIALIZED ("
    + _ROWS
    + " ORDER BY q.state = 'blocked', q.id FOR UPDATE)"
    + _SUMMED
)

_READ_LIVE: LiteralString = "WITH rows AS MATERIALIZED (" + _ROWS + ")" + _SUMMED


async def lock_live(tx: Tx, schedule_ids: Sequence[UUID]) -> Snapshot:
    """What these schedules have in the queue, which stays so until the transaction ends.

    To be called with the schedules and their timers locked.
    """
    return _snapshot(await tx.fetch(_LOCK_LIVE, list(schedule_ids)))


async def read_live(tx: Tx, schedule_ids: Sequence[UUID]) -> Snapshot:
    """The same for a caller who holds rows of the queue already, and must not wait for others."""
    return _snapshot(await tx.fetch(_READ_LIVE, list(schedule_ids)))


def _snapshot(rows: Sequence[Row]) -> Snapshot:
    return Snapshot(
        at=rows[0]["now"] if rows else None,
        schedules={
            row["schedule_id"]: Live(
                count=row["count"],
                is_running=row["is_running"],
                prepared=tuple(row["prepared"]),
                held=tuple(row["held"]),
                is_held=row["is_held"],
            )
            for row in rows
        },
    )


# cancel_previous, as `firing.fire` does it: what waits ends here; what runs, or is between two
# of its steps, is asked to end. $2 is when it was read what is live.
_REPLACE: LiteralString = (
    "WITH withdrawn AS ("
    + withdraw.cancel_waiting("$1::uuid[]", now="$2::timestamptz")
    + "), recorded AS ("
    + record.withdrawn("withdrawn", status="'cancelled'", reason="'overlap'")
    + "), asked AS ("
    + withdraw.cancel_running("$1::uuid[]", now="$2::timestamptz")
    + ") SELECT "
    + locks.notify(locks.CANCEL, "id::text")
    + " FROM asked"
)


async def make_room(tx: Tx, snapshot: Snapshot, admissions: Mapping[UUID, Admission], /) -> None:
    """Cancel what is live of the schedules whose policy says so, before others enter."""
    replaced = [id_ for id_, each in admissions.items() if each.replaces]
    if replaced:
        await tx.fetch(_REPLACE, replaced, snapshot.at)


class Admission:
    """How firings of one schedule enter, one after another in one transaction. Pure.

    `make_room` is to be called before the first one enters.
    """

    def __init__(self, policy: Policy, live: Live, *, patient: bool = False) -> None:
        """`patient` firings wait where the policy would skip them, up to the bound of `queue`."""
        self._policy: Policy = policy
        self._live = live
        self._patient = patient
        self._count = live.count
        self._entered = False

    @property
    def first(self) -> Entry:
        """How the first one enters."""
        return entry(self._policy, live=self._live.count, catch_up=self._waits)

    @property
    def replaces(self) -> bool:
        return self.first is Entry.REPLACE

    @property
    def _waits(self) -> bool:
        return self._patient and self._policy == "skip"

    def next(self) -> tuple[State, str | None]:
        """What becomes of the next one, and the reason if it is skipped."""
        state = self._next()
        if state == "skipped":
            return state, reason(self._policy)
        self._entered = True
        self._count += 1
        return state, None

    def _next(self) -> State:
        live = self._live
        if self._policy == "allow":
            return "waiting"
        if self._entered and self._policy == "cancel_previous":
            # Asked for together: none of them was there before the others.
            return "blocked"
        match entry(self._policy, live=self._count, catch_up=self._waits):
            case Entry.SKIPPED:
                return "skipped"
            case Entry.BLOCKED:
                return "blocked"
            case Entry.REPLACE:
                return "blocked" if live.is_running or live.is_held else "waiting"
            case Entry.READY:
                return "blocked" if live.is_held else "waiting"
