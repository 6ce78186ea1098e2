"""Low-water marks of the claim: where the live rows of each run begin. Pure.

A run is the rows of one (lane, tenant, priority), in the order of the index `queue_ready`. Rows
that were claimed leave dead entries at its head. Vacuum removes them, unless a transaction left
open elsewhere may still see them: then each look for the first live row of a run walks over all
that were claimed since. A look past the run's mark does not.

Looking at everything is right always and cheap usually, so marks are used only while it is not:
after a look that walked over more than `MAX_WALK` entries of the index. A look past the marks also
searches the gaps between the runs that are known, so a new tenant or priority is found at once.
What it cannot see is a row that enters below its run's mark: a task enqueued for now while the
claims are ahead, a claim given back or rescued, a transaction that was committed late. Sweeps find
these, and lower the mark. They only read, and no claim waits for them:

- a near sweep looks `SLACK` behind the clock, four times a second and when something is suspected;
- a full sweep looks at everything, once a second. One that takes long is made less often, so that
  sweeps take no more than a twentieth of the time.

All instants are the database's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

MAX_WALK: Final = 5_000
"""Entries of the index that a look may walk over: a thousandth of a second or less."""
SLACK: Final = timedelta(seconds=1)
"""How far behind the clock a near sweep looks: rows enter a moment after their instant."""
NEAR_INTERVAL: Final = timedelta(milliseconds=250)
FULL_INTERVAL: Final = timedelta(seconds=1)
MAX_RUNS: Final = 448
"""Marks kept: fewer than the runs that one look can see. With more runs there are no marks."""

_MAX_SLACK: Final = timedelta(minutes=1)
_SWEEP_PART: Final = 20
"""A sweep takes no more than one in so many parts of the time."""
_GAPS_PART: Final = 100
"""The same for a search of the gaps that turned out to be costly: it is in the claim's way."""
_OVERDUE: Final = timedelta(seconds=5)
"""Without a sweep for so long, claims look at everything themselves."""
_FORGET_AFTER: Final = timedelta(minutes=1)
_TICK: Final = timedelta(microseconds=1)

NOBODY: Final = UUID(int=0)
"""Before every tenant."""
_LAST: Final = UUID(int=(1 << 128) - 1)
_HIGHEST: Final = 32_767
_LOWEST: Final = -32_768


class Run(NamedTuple):
    """What waits in a lane for a tenant with the same priority."""

    lane: str
    tenant_id: UUID
    priority: int


class Tenants(NamedTuple):
    """All runs of a lane whose tenants are between two, both excluded."""

    lane: str
    after: UUID
    before: UUID


class Priorities(NamedTuple):
    """All runs of a lane and a tenant whose priorities are between two, both excluded."""

    lane: str
    tenant_id: UUID
    below: int
    above: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one statement looks at."""

    tenants: Sequence[Tenants] = ()
    priorities: Sequence[Priorities] = ()
    marks: Mapping[Run, datetime] = field(default_factory=dict[Run, datetime])
    """Runs to look at past an instant. The ranges above contain none of them."""
    is_everything: bool = False

    @property
    def has_gaps(self) -> bool:
        return bool(self.tenants or self.priorities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What it found."""

    at: datetime
    """When the statement began."""
    took: timedelta
    """How long the server searched."""
    walked: int
    """Entries of the index that the search of the ranges, not of the marks, went over."""
    runs: Mapping[Run, datetime]
    """The runs with rows that are due, and the instant of the first row of each."""
    is_whole: bool
    """Whether all that was to be looked at was: there may be more runs than one look can see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep that is under way."""

    look: Look
    before: Mapping[Run, datetime]


def everything(
    lanes: Sequence[str], tenants: Collection[UUID] | None, *, after: UUID = NOBODY
) -> Look:
    """A look at all runs of these tenants, or of all tenants, that come after one."""
    if tenants is None:
        return Look(tenants=[Tenants(lane, after, _LAST) for lane in lanes], is_everything=True)
    ordered = sorted({each for each in tenants if each > after})
    ranges = [Priorities(lane, each, _HIGHEST, _LOWEST) for each in ordered for lane in lanes]
    return Look(priorities=ranges, is_everything=True)


class LowWatermarks:
    """The marks that one claimer keeps, and when it looks past them."""

    def __init__(self, *, max_walk: int = MAX_WALK) -> None:
        self._max_walk = max_walk
        self._lows: dict[Run, datetime] = {}
        self._live_at: dict[Run, datetime] = {}
        """When each run was last seen to have rows."""
        self._slacks: dict[Run, timedelta] = {}
        """Of runs that rows have entered later than usual."""
        self._lowered: set[Run] = set()
        """Runs whose marks a sweep has lowered since the last look began."""
        self._seen_at: datetime | None = None
        self._near = _Pace(NEAR_INTERVAL)
        self._full = _Pace(FULL_INTERVAL)
        self._gaps_again_at: datetime | None = None
        """None while the gaps are searched each time."""
        self.in_use = False
        """Whether claims look past the marks."""

    def look(self, lanes: Sequence[str], tenants: Collection[UUID] | None, after: UUID) -> Look:
        """What the next claim should look at."""
        self._lowered.clear()
        if not self.in_use or after != NOBODY or self._full.is_overdue(self._seen_at):
            return everything(lanes, tenants, after=after)
        marks = self._of(lanes, tenants)
        if self._gaps_again_at is not None and not _has_come(self._gaps_again_at, self._seen_at):
            return Look(marks=marks)
        return Look(
            tenants=list(_between_tenants(marks, lanes)) if tenants is None else (),
            priorities=list(_between_priorities(marks, lanes, tenants)),
            marks=marks,
        )

    def looked(self, look: Look, seen: Seen) -> None:
        """A claim has looked: raise the marks to what it saw."""
        self._seen_at = seen.at
        for run, first_at in seen.runs.items():
            self._live_at[run] = seen.at
            self._raise(run, first_at - _TICK)
        if not seen.is_whole:
            # More than can be seen at once: there is no mark for each.
            self.in_use = False
        elif look.is_everything:
            self._full.did(seen)
            self._near.was_done_by(seen)
            self._judge(seen)
            self._raise_empty([run for run in self._lows if run not in seen.runs], seen.at)
        else:
            self._raise_empty([run for run in look.marks if run not in seen.runs], seen.at)
            if look.has_gaps:
                is_long = seen.walked > self._max_walk
                self._gaps_again_at = seen.at + _GAPS_PART * seen.took if is_long else None
        self._forget(seen.at)

    def suspect(self) -> None:
        """Something may have entered below a mark."""
        self._near.is_wanted = self._full.is_wanted = True

    @property
    def sweep_is_due(self) -> bool:
        return self.in_use and (
            self._near.is_due(self._seen_at) or self._full.is_due(self._seen_at)
        )

    def begin_sweep(self, lanes: Sequence[str], tenants: Collection[UUID] | None) -> Sweep:
        """What to look at, and the marks as they are: what is found below them has entered late."""
        # What is suspected from here on, the sweep may not see.
        self._near.is_wanted = False
        before = dict(self._lows)
        if self._seen_at is None or self._full.is_due(self._seen_at):
            self._full.is_wanted = False
            return Sweep(look=everything(lanes, tenants), before=before)
        marks = {run: self._seen_at - self._slack(run) for run in self._of(lanes, tenants)}
        return Sweep(look=Look(marks=marks), before=before)

    def swept(self, sweep: Sweep, seen: Seen) -> bool:
        """Lower the marks to what a sweep found; returns whether claims did not see something."""
        is_news = False
        for run, first_at in seen.runs.items():
            low = sweep.before.get(run)
            if low is not None and first_at > low:
                continue
            is_news = True
            if low is not None and seen.at - first_at > self._slack(run):
                self._slacks[run] = min(2 * (seen.at - first_at), _MAX_SLACK)
            self._live_at[run] = seen.at
            self._lowered.add(run)
            self._lows[run] = min(first_at - _TICK, self._lows.get(run, first_at))
        self._seen_at = seen.at + seen.took
        if not sweep.look.is_everything:
            self._near.did(seen)
        else:
            self._full.did(seen)
            self._near.was_done_by(seen)
            self._judge(seen)
            if not is_news:
                slacks = self._slacks.items()
                self._slacks = {run: slack / 2 for run, slack in slacks if slack > SLACK}
        self._forget(seen.at)
        return is_news

    def _of(self, lanes: Sequence[str], tenants: Collection[UUID] | None) -> dict[Run, datetime]:
        return {
            run: low
            for run, low in self._lows.items()
            if run.lane in lanes and (tenants is None or run.tenant_id in tenants)
        }

    def _judge(self, seen: Seen) -> None:
        """Everything was looked at."""
        # Half of it to go back: not to and fro at every look.
        most = self._max_walk // 2 if self.in_use else self._max_walk
        self.in_use = seen.walked - len(seen.runs) > most and len(seen.runs) <= MAX_RUNS

    def _raise_empty(self, runs: Sequence[Run], at: datetime) -> None:
        """These runs have no rows: what enters them will be of about now."""
        for run in runs:
            if run in self._lows:
                self._raise(run, max(self._lows[run], at - self._slack(run)))

    def _raise(self, run: Run, low: datetime) -> None:
        # A claim that looked before a sweep did does not know what that has found.
        if run not in self._lowered:
            self._lows[run] = low

    def _slack(self, run: Run) -> timedelta:
        return max(SLACK, self._slacks.get(run, SLACK))

    def _forget(self, at: datetime) -> None:
        """Forget runs that are empty: those beyond the most, and all while nothing is dead."""
        old = [] if self.in_use else [r for r, t in self._live_at.items() if at - t > _FORGET_AFTER]
        extra = len(self._lows) - len(old) - MAX_RUNS
        if extra > 0:
            old = sorted(self._live_at, key=self._live_at.__getitem__)[: len(old) + extra]
        for run in old:
            del self._lows[run], self._live_at[run]
            self._slacks.pop(run, None)


class _Pace:
    """How often sweeps of one kind are made."""

    def __init__(self, interval: timedelta) -> None:
        self._interval = interval
        self._ended_at: datetime | None = None
        self._took = timedelta()
        self.is_wanted = False

    def did(self, seen: Seen) -> None:
        self._took, self._ended_at = seen.took, seen.at + seen.took

    def was_done_by(self, seen: Seen) -> None:
        """Together with more, so that how long it takes is not known from this."""
        self._ended_at = seen.at + seen.took

    def is_due(self, now: datetime | None) -> bool:
        """Sooner when it is wanted, and never for more than a part of the time."""
        if self._ended_at is None:
            return True
        wait = _SWEEP_PART * self._took
        return _has_come(
            self._ended_at + (wait if self.is_wanted else max(wait, self._interval)), now
        ) or self._was_set_back(now)

    def is_overdue(self, now: datetime | None) -> bool:
        """Whether nobody sweeps."""
        return (
            self._ended_at is None
            or _has_come(self._ended_at + max(_OVERDUE, _GAPS_PART * self._took), now)
            or self._was_set_back(now)
        )

    def _was_set_back(self, now: datetime | None) -> bool:
        """The clock. A look that began before the sweep ended is not meant."""
        return now is not None and self._ended_at is not None and now < self._ended_at - _OVERDUE


def _has_come(at: datetime, now: datetime | None) -> bool:
    return now is None or now >= at


def _between_tenants(marks: Collection[Run], lanes: Sequence[str]) -> Iterator[Tenants]:
    """All tenants of each lane but those with marks there."""
    for lane in lanes:
        after = NOBODY
        for tenant in sorted({run.tenant_id for run in marks if run.lane == lane}):
            yield Tenants(lane, after, tenant)
            after = tenant
        yield Tenants(lane, after, _LAST)


def _between_priorities(
    marks: Collection[Run], lanes: Sequence[str], tenants: Collection[UUID] | None
) -> Iterator[Priorities]:
    """All priorities of each lane and tenant with marks, or to be served, but those with marks."""
    known: dict[tuple[UUID, str], list[int]] = {}
    if tenants is not None:
        known = {(tenant, lane): [] for tenant in tenants for lane in lanes}
    for run in marks:
        known.setdefault((run.tenant_id, run.lane), []).append(run.priority)
    for tenant, lane in sorted(known):
        below = _HIGHEST
        for priority in (*sorted(known[tenant, lane], reverse=True), _LOWEST):
            if priority < below - 1:
                yield Priorities(lane, tenant, below, priority)
            below = priority
