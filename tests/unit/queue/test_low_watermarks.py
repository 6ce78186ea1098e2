"""Looking past dead entries, and finding all that enters below the marks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rota.queue.low_watermarks import (
    FULL_INTERVAL,
    MAX_RUNS,
    MAX_WALK,
    NOBODY,
    SLACK,
    Look,
    LowWatermarks,
    Run,
    Seen,
    Sweep,
    everything,
)

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LEAD = timedelta(seconds=2)
QUICK = timedelta(microseconds=200)
SLOW = timedelta(milliseconds=20)
LANES = ["http", "mail"]
RUN = Run("http", UUID(int=5), 5)

RUNS = st.builds(
    Run, st.sampled_from(LANES), st.integers(1, 6).map(lambda n: UUID(int=n)), st.integers(0, 9)
)


def covers(look: Look, run: Run) -> int:
    """How often the look sees the run's rows, from its mark on."""
    return (
        sum(r.lane == run.lane and r.after < run.tenant_id < r.before for r in look.tenants)
        + sum(
            (r.lane, r.tenant_id) == run[:2] and r.above < run.priority < r.below
            for r in look.priorities
        )
        + (run in look.marks)
    )


def seen(at: datetime, runs: dict[Run, datetime] | None = None, took: timedelta = QUICK) -> Seen:
    walked = 10 * MAX_WALK if took > QUICK else 10
    return Seen(at=at, took=took, walked=walked, runs=runs or {}, is_whole=True)


def full_sweep(marks: LowWatermarks) -> Sweep:
    """Begun now, whether or not it is due."""
    begun = marks.begin_sweep(LANES, None)
    return Sweep(look=everything(LANES, None), before=begun.before)


def in_use(*runs: Run, at: datetime = NOW) -> LowWatermarks:
    """Marks of these runs, which had a row a second ago, after a look that took long."""
    marks = LowWatermarks()
    marks.looked(everything(LANES, None), seen(at, dict.fromkeys(runs, at), SLOW))
    assert marks.in_use
    return marks


@given(st.sets(RUNS, max_size=20), st.none() | st.sets(st.integers(1, 6), min_size=1), RUNS)
def test_every_run_is_looked_at_once(known: set[Run], served: set[int] | None, run: Run) -> None:
    tenants = None if served is None else [UUID(int=n) for n in sorted(served)]
    marks = in_use(*known)
    wanted = tenants is None or run.tenant_id in tenants
    for look in (marks.look(LANES, tenants, NOBODY), everything(LANES, tenants)):
        assert covers(look, run) == wanted
    # Of one lane alone nothing of the other is looked at.
    look = marks.look(["http"], tenants, NOBODY)
    assert covers(look, run) == (wanted and run.lane == "http")


def test_while_everything_is_quick_to_look_at_there_are_no_marks() -> None:
    marks = LowWatermarks()
    for n in range(100):
        look = marks.look(LANES, None, NOBODY)
        assert look.is_everything
        marks.looked(look, seen(NOW + n * SLACK, {RUN: NOW + n * SLACK}))
        assert not marks.sweep_is_due


def test_a_mark_follows_the_first_row_and_without_one_the_clock() -> None:
    marks = in_use(RUN)
    tick = timedelta(microseconds=1)
    for first_at, low in (
        (NOW - 9 * SLACK, NOW - 9 * SLACK - tick),  # a backlog: its first row is the mark
        (NOW + SLACK, NOW + SLACK - tick),
        (None, NOW + SLACK - tick),
    ):
        look = marks.look(LANES, None, NOBODY)
        marks.looked(look, seen(NOW, {} if first_at is None else {RUN: first_at}))
        assert marks.look(LANES, None, NOBODY).marks == {RUN: low}
    marks.looked(marks.look(LANES, None, NOBODY), seen(NOW + 3 * SLACK))
    assert marks.look(LANES, None, NOBODY).marks == {RUN: NOW + 2 * SLACK}


def test_sweeps_are_due_by_time_and_sooner_when_something_is_suspected() -> None:
    marks = in_use(RUN)
    marks.swept(full_sweep(marks), seen(NOW, took=SLOW))
    # After so many seconds: is one due, is one if something is suspected, and of everything?
    for passed, is_due, if_suspected, is_full in (
        (0.1, False, True, False),
        (0.45, True, True, True),
        (1.1, True, True, True),
    ):
        at = NOW + timedelta(seconds=passed)
        marks.looked(marks.look(LANES, None, NOBODY), seen(at))
        assert marks.sweep_is_due is is_due
        marks.suspect()
        assert marks.sweep_is_due is if_suspected
        assert marks.begin_sweep(LANES, None).look.is_everything is is_full
    # One that takes a second is made every twenty; near ones meanwhile, past marks of their own.
    at = NOW + timedelta(seconds=2)
    marks.swept(full_sweep(marks), seen(at, took=timedelta(seconds=1)))
    begun = marks.begin_sweep(LANES, None)
    assert begun.look == Look(marks={RUN: at + SLACK - SLACK})
    marks.swept(begun, seen(at + SLACK))
    marks.suspect()
    for passed, is_full in ((15, False), (25, True)):
        marks.looked(Look(), seen(at + timedelta(seconds=passed)))
        assert marks.sweep_is_due
        assert marks.begin_sweep(LANES, None).look.is_everything is is_full


def test_a_row_that_entered_late_is_found_and_further_ones_are_looked_for_there() -> None:
    marks = in_use(RUN)
    late_at = NOW - 7 * SLACK
    assert marks.swept(full_sweep(marks), seen(NOW + SLACK, {RUN: late_at}, SLOW))
    [low] = marks.look(LANES, None, NOBODY).marks.values()
    assert low < late_at
    marks.looked(marks.look(LANES, None, NOBODY), seen(NOW + 2 * SLACK))

    def near() -> datetime:
        [low] = marks.begin_sweep(LANES, None).look.marks.values()
        return low

    assert near() < late_at
    for n in range(3, 9):
        assert not marks.swept(full_sweep(marks), seen(NOW + n * SLACK, took=SLOW))
    assert near() == NOW + 7 * SLACK + SLOW


def test_a_claim_that_began_before_a_sweep_does_not_undo_what_that_found() -> None:
    marks = in_use(RUN)
    look = marks.look(LANES, None, NOBODY)
    late_at = NOW - 7 * SLACK
    assert marks.swept(full_sweep(marks), seen(NOW, {RUN: late_at}, SLOW))
    marks.looked(look, seen(NOW))
    [low] = marks.look(LANES, None, NOBODY).marks.values()
    assert low < late_at


def test_without_sweeps_claims_look_at_everything_themselves() -> None:
    marks = in_use(RUN)
    marks.looked(marks.look(LANES, None, NOBODY), seen(NOW + timedelta(seconds=10)))
    assert marks.look(LANES, None, NOBODY).is_everything


def test_a_clock_that_is_set_back_brings_a_look_at_everything() -> None:
    marks = in_use(RUN)
    marks.looked(marks.look(LANES, None, NOBODY), seen(NOW - timedelta(hours=1)))
    assert marks.look(LANES, None, NOBODY).is_everything


def test_gaps_that_take_long_to_search_are_left_to_sweeps_for_a_while() -> None:
    marks = in_use(RUN)
    look = marks.look(LANES, None, NOBODY)
    assert look.has_gaps
    marks.looked(look, seen(NOW, took=SLOW))
    assert not marks.look(LANES, None, NOBODY).has_gaps
    marks.looked(Look(marks=look.marks), seen(NOW + 100 * SLOW))
    assert marks.look(LANES, None, NOBODY).has_gaps


def test_with_more_runs_than_a_look_can_see_there_are_no_marks() -> None:
    marks = in_use(RUN)
    found = seen(NOW, {RUN: NOW})
    partly = Seen(at=NOW, took=QUICK, walked=found.walked, runs=found.runs, is_whole=False)
    marks.looked(marks.look(LANES, None, NOBODY), partly)
    assert marks.look(LANES, None, NOBODY).is_everything


def test_the_runs_that_have_been_empty_longest_are_forgotten_first() -> None:
    marks = LowWatermarks()
    runs = [Run("http", UUID(int=n + 1), 5) for n in range(MAX_RUNS + 10)]
    for n, run in enumerate(runs):
        at = NOW + n * timedelta(milliseconds=1)
        marks.looked(everything(LANES, None), seen(at, {run: at}, SLOW))
    assert list(marks.look(LANES, None, NOBODY).marks) == runs[10:]


def test_marks_are_given_up_when_the_dead_are_gone() -> None:
    marks = in_use(RUN)
    marks.swept(full_sweep(marks), seen(NOW + SLACK, took=QUICK))
    assert not marks.in_use
    assert marks.look(LANES, None, NOBODY).is_everything


_FEW = 5
"""Dead entries that a look may walk over, in the model."""
_DEAD_ENTRY = timedelta(milliseconds=1)
"""What it takes for each."""


@dataclass(slots=True)
class _Worker:
    marks: LowWatermarks = field(default_factory=lambda: LowWatermarks(max_walk=_FEW))
    sweep: tuple[Sweep, Seen] | None = None
    """Under way: what it will have found."""


class Queue(RuleBasedStateMachine):
    """Two workers claim from one queue; rows enter at any instant, also far below the marks."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.live: list[tuple[Run, datetime, int]] = []
        self.dead: list[tuple[Run, datetime]] = []
        self.claimed: Counter[int] = Counter()
        self.given_back: Counter[int] = Counter()
        self.entered = 0
        self.workers = (_Worker(), _Worker())

    @rule(run=RUNS, seconds=st.floats(-90, 3), count=st.integers(1, 5))
    def enter(self, run: Run, seconds: float, count: int) -> None:
        for _ in range(count):
            self.entered += 1
            self.live.append((run, self.now + timedelta(seconds=seconds), self.entered))

    @rule(seconds=st.floats(0.01, 8))
    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(which=st.integers(0, 1), limit=st.integers(1, 20))
    def claim(self, which: int, limit: int) -> None:
        marks = self.workers[which].marks
        look = marks.look(LANES, None, NOBODY)
        found = self.look(look)
        marks.looked(look, found)
        for run, first_at in found.runs.items():
            rows = [each for each in self.live if each[0] == run and each[1] >= first_at]
            # In a run the oldest first, as without marks.
            for row in sorted(rows, key=lambda each: each[1])[:limit]:
                if row[1] <= self.now + LEAD:
                    self.live.remove(row)
                    self.dead.append(row[:2])
                    self.claimed[row[2]] += 1

    @rule(which=st.integers(0, 1))
    def begin_sweep(self, which: int) -> None:
        worker = self.workers[which]
        if worker.sweep is None and worker.marks.sweep_is_due:
            begun = worker.marks.begin_sweep(LANES, None)
            worker.sweep = begun, self.look(begun.look)

    @rule(which=st.integers(0, 1))
    def end_sweep(self, which: int) -> None:
        worker = self.workers[which]
        if worker.sweep is not None:
            worker.marks.swept(*worker.sweep)
            worker.sweep = None

    @precondition(lambda self: self.dead)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        run, at = data.draw(st.sampled_from(self.dead))
        self.entered += 1
        self.live.append((run, at, self.entered))

    @rule()
    def vacuum(self) -> None:
        self.dead.clear()

    def look(self, look: Look) -> Seen:
        def is_seen(run: Run, at: datetime) -> bool:
            return covers(look, run) > 0 and at > look.marks.get(
                run, datetime.min.replace(tzinfo=UTC)
            )

        runs: dict[Run, datetime] = {}
        for run, at, _ in self.live:
            if is_seen(run, at) and at <= self.now + LEAD:
                runs[run] = min(at, runs.get(run, at))
        dead = [run for run, at in self.dead if is_seen(run, at)]
        walked = len(runs) + sum(run not in look.marks for run in dead)
        took = QUICK + len(dead) * _DEAD_ENTRY
        return Seen(at=self.now, took=took, walked=walked, runs=runs, is_whole=True)

    def teardown(self) -> None:
        """All that is due is claimed within the bound, and nothing was claimed twice."""
        slowest = QUICK + len([*self.dead, *self.live]) * _DEAD_ENTRY
        until = self.now + max(FULL_INTERVAL, 20 * slowest) + 2 * SLACK
        self.workers[0].sweep = None  # as when its connection was lost
        while self.now < until:
            self.now += timedelta(milliseconds=250)
            self.claim(0, 1_000)
            self.begin_sweep(0)
            self.end_sweep(0)
        self.claim(0, 1_000)
        assert [each for each in self.live if each[1] <= self.now + LEAD] == []
        assert set(self.claimed.values()) <= {1}


Queue.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestQueue = Queue.TestCase
