"""Expected slots against outcomes: every slot of an active schedule has one, or is unexplained.

The answer comes from what is recorded (firings, the queue, the audit trail of changes) and from the
trigger alone, never from what a scheduler believes. A slot is expected while its schedule was
active, by the definition of that time. What a timer still stands at is not decided yet, and what is
younger than `SLACK` may be about to be recorded.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

import msgspec

from rota.history.retention import KEEP
from rota.schedules import audit, tzdata
from rota.schedules import schedule as schedules
from rota.schedules.audit import Span
from rota.time_slicer import run_at_once
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rota.db import Database, Row, Tx
    from rota.schedules.schedule import Schedule
    from rota.time_slicer import Steps
    from rota.triggers.calendars import Days
    from rota.triggers.trigger import Trigger

SLACK: Final = timedelta(minutes=2)
"""A slot this old is recorded, also when its scheduler died and another had to take over."""
MOST_OUTCOMES: Final = 5_000
"""Of one schedule: a longer range is looked at as far as these go. Reading more would hold an event
loop for long."""
MOST_RUNS: Final = 100
"""Runs of unexplained slots that are named for each schedule."""

_DAY = timedelta(days=1)
_ALL = 1_000_000
_TICK = timedelta(microseconds=1)
_SOME = 32


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a slot, or of a run of slots: both ends included."""

    first: datetime
    last: datetime
    count: int
    what: str


@dataclass(slots=True)
class Run:
    """Slots one after another without any outcome, both ends included."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The slots of a trigger after an instant and before another."""

    trigger: Trigger
    after: datetime
    until: datetime


@dataclass(slots=True)
class Account:
    """How many slots were expected, and what became of them."""

    expected: int = 0
    unexplained: int = 0
    runs: list[Run] = field(default_factory=list[Run])
    """The first `MOST_RUNS` of those without an outcome."""


def account(expected: Iterable[Expected], outcomes: Sequence[Outcome]) -> Steps[Account]:
    """Hold the slots against the outcomes, which are in the order of their first slots. Pure.

    Steps: an every-second schedule has 86,400 slots in a day.
    """
    singles = {each.first for each in outcomes if each.count == 1}
    ranges = [each for each in outcomes if each.count > 1]
    firsts = [each.first for each in ranges]
    result = Account()
    run: Run | None = None
    for part in expected:
        slot = part.trigger.next_after(part.after)
        steps = 0
        while slot is not None and slot < part.until:
            steps += 1
            if steps % _SOME == 0:
                yield
            at = bisect_right(firsts, slot) - 1
            if slot in singles:
                result.expected += 1
                run, slot = None, part.trigger.next_after(slot)
            elif at >= 0 and slot <= ranges[at].last:
                # The whole run at once: an outage can have missed very many.
                whole = ranges[at]
                begins = slot == whole.first and whole.last < part.until
                count = whole.count if begins else 1
                result.expected += count
                run, slot = None, part.trigger.next_after(whole.last if begins else slot)
            else:
                result.expected += 1
                result.unexplained += 1
                run = _missing(result, run, slot)
                slot = part.trigger.next_after(slot)
        run = None
    return result


def _missing(result: Account, run: Run | None, slot: datetime) -> Run | None:
    if run is not None:
        run.last = slot
        run.count += 1
        return run
    run = Run(slot, slot, 1)
    if len(result.runs) < MOST_RUNS:
        result.runs.append(run)
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One schedule's slots in a range of time."""

    schedule_id: UUID
    tenant_id: UUID
    key: str
    name: str
    timezone: str
    since: datetime
    until: datetime
    """As far as its slots were looked at."""
    expected: int
    unexplained: int
    runs: Sequence[Run]
    more: bool = False
    """There were more outcomes than are looked at at once; `until` is where to go on."""
    has_no_timer: bool = False
    """It is active, has slots, and nothing is armed for the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    schedule: Schedule
    timer_slot: datetime | None
    rules_since: datetime | None


# The timer is read first: what lies before its slot has been decided, and so the statement after
# this one finds the outcome. `rules`: since when the shard has followed other rules of time zones.
_SUBJECTS: LiteralString = f"""
    SELECT {schedules.COLUMNS}, t.scheduled_for, r.moved_at, r.changed
      FROM schedules s
      LEFT JOIN LATERAL (SELECT scheduled_for FROM timers
                          WHERE schedule_id = s.id OFFSET 0) AS t ON true
      LEFT JOIN shard_tzdata r ON r.shard = s.shard AND r.moved_at > $2
     WHERE s.id = ANY ($1::uuid[])
     ORDER BY s.id
"""

# Of each schedule by its own index, and no further than the limit. What is in the queue moves to
# `firings` in one transaction, so one statement sees it in one of them.
_OUTCOMES: LiteralString = """
    SELECT x.id, o.scheduled_for, o.last_slot_at, o.slot_count, o.status
      FROM unnest($1::uuid[]) AS x (id)
     CROSS JOIN LATERAL (
           (SELECT q.scheduled_for, q.scheduled_for AS last_slot_at, 1 AS slot_count,
                   q.state AS status
              FROM queue q
             WHERE q.schedule_id = x.id AND q.scheduled_for >= $2 AND q.scheduled_for < $3
               AND q.triggered_by IN ('schedule', 'backfill')
             ORDER BY q.scheduled_for LIMIT $4)
            UNION ALL
           (SELECT f.scheduled_for, coalesce(f.last_slot_at, f.scheduled_for), f.slot_count,
                   f.status
              FROM firings f
             WHERE f.schedule_id = x.id AND f.scheduled_for >= $2 AND f.scheduled_for < $3
               AND f.triggered_by IN ('schedule', 'backfill')
             ORDER BY f.scheduled_for LIMIT $4)) AS o
     ORDER BY x.id, o.scheduled_for
"""

# A run of slots that began earlier: asked for only when its slots seem to have no outcome.
_RUNS_BEFORE: LiteralString = """
    SELECT f.scheduled_for, f.last_slot_at, f.slot_count, f.status
      FROM firings f
     WHERE f.schedule_id = $1 AND f.scheduled_for < $2 AND f.scheduled_for >= $3
       AND f.last_slot_at >= $2 AND f.triggered_by = 'schedule'
     ORDER BY f.scheduled_for
"""


async def audited(
    tx: Tx,
    schedule_ids: Collection[UUID],
    *,
    since: datetime,
    until: datetime | None = None,
    slack: timedelta = SLACK,
    keep: timedelta = KEEP,
    most: int = MOST_OUTCOMES,
) -> list[Steps[Audited]]:
    """The slots of these schedules in a range of time, each as a computation to be run.

    No further back than `keep`, the creation of the schedule, and what is known of it; no further
    ahead than `slack` before now.
    """
    now = await schedules.now(tx)
    since = max(since, now - keep + _DAY)
    until = min(until or now, now - slack)
    rows = await tx.fetch(_SUBJECTS, list(schedule_ids), since)
    subjects = [each for row in rows if (each := await _subject(tx, row)) is not None]
    rows = await tx.fetch(_OUTCOMES, [each.schedule.id for each in subjects], since, until, most)
    found: dict[UUID, list[Row]] = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row)
    return [
        await _audited(
            tx,
            each,
            found.get(each.schedule.id, []),
            since=since,
            until=until,
            keep=keep,
            most=most,
        )
        for each in subjects
    ]


async def _subject(tx: Tx, row: Row) -> _Subject | None:
    """None for one whose definition cannot be read: it must not hide the others."""
    try:
        schedule = schedules.of_row(row)
    except msgspec.MsgspecError:
        return None
    schedule = (await schedules.with_calendars(tx, [schedule]))[0]
    rules_since: datetime | None = row["moved_at"]
    if rules_since is not None and not tzdata.depends_on_rules(schedule.trigger, row["changed"]):
        rules_since = None
    return _Subject(schedule=schedule, timer_slot=row["scheduled_for"], rules_since=rules_since)


async def _audited(
    tx: Tx,
    subject: _Subject,
    rows: Sequence[Row],
    *,
    since: datetime,
    until: datetime,
    keep: timedelta,
    most: int,
) -> Steps[Audited]:
    schedule = subject.schedule
    timed = is_timed(schedule.trigger)
    outcomes = [_outcome(row) for row in rows]
    more = len(outcomes) >= most
    if more:
        until = min(until, outcomes[most - 1].first)
    if subject.timer_slot is not None:
        until = min(until, subject.timer_slot)
    since = max(since, subject.rules_since or since)
    spans = await _spans(tx, schedule, since, until) if timed and since < until else []
    expected = _expected(spans, schedule, since)
    if expected and _first_is_missing(expected[0], outcomes):
        before = await tx.fetch(_RUNS_BEFORE, schedule.id, since, since - keep)
        outcomes = [*map(_outcome, before), *outcomes]
    return _computed(subject, expected, outcomes, since=since, until=until, more=more)


def _computed(
    subject: _Subject,
    expected: Sequence[Expected],
    outcomes: Sequence[Outcome],
    *,
    since: datetime,
    until: datetime,
    more: bool,
) -> Steps[Audited]:
    schedule = subject.schedule
    timed = is_timed(schedule.trigger)
    result = yield from account(expected, outcomes)
    return Audited(
        schedule_id=schedule.id,
        tenant_id=schedule.tenant_id,
        key=schedule.key,
        name=schedule.name,
        timezone=schedule.slots.timezone,
        since=since,
        until=max(until, since),
        expected=result.expected,
        unexplained=result.unexplained,
        runs=result.runs,
        more=more,
        has_no_timer=timed and schedule.status == "active" and subject.timer_slot is None,
    )


async def _spans(tx: Tx, schedule: Schedule, since: datetime, until: datetime) -> list[Span]:
    if schedule.updated_at > since:
        return await audit.spans(tx, schedule.id, since=since, until=until)
    # Nothing has changed since: what it is now is what it was.
    return [
        Span(
            since=since,
            until=until,
            state=schedule.status,
            version=schedule.version,
            definition=schedule.definition,
            anchor_at=schedule.anchor_at,
            calendar_version=schedule.calendar and schedule.calendar.version,
        )
    ]


def _expected(spans: Iterable[Span], schedule: Schedule, since: datetime) -> list[Expected]:
    """What it had to fire while it was active, as far as that is known.

    A change arms from the next slot on; at the beginning of the range a slot counts itself.
    """
    found: list[Expected] = []
    for span in spans:
        if span.state != "active" or span.definition is None or span.anchor_at is None:
            continue
        known, calendar = _days(span, schedule)
        if not known:
            continue
        trigger = span.definition.trigger(span.anchor_at, calendar)
        if is_timed(trigger):
            after = span.since - _TICK if span.since == since else span.since
            found.append(Expected(trigger, after, span.slots_until))
    return found


def _days(span: Span, schedule: Schedule) -> tuple[bool, Days | None]:
    """Whether the days of its calendar of that time are known, and which they are."""
    assert span.definition is not None
    if span.definition.calendar is None:
        return True, None
    now = schedule.calendar
    if now is None or (now.name, now.version) != (span.definition.calendar, span.calendar_version):
        return False, None
    return True, now.days


def _first_is_missing(expected: Expected, outcomes: Sequence[Outcome]) -> bool:
    slot = expected.trigger.next_after(expected.after)
    return slot is not None and slot < expected.until and all(o.first != slot for o in outcomes[:1])


def _outcome(row: Row) -> Outcome:
    first: datetime = row["scheduled_for"]
    return Outcome(first, row["last_slot_at"] or first, row["slot_count"], row["status"])


_IDS: LiteralString = """
    SELECT id FROM schedules
     WHERE ($1::uuid IS NULL OR tenant_id = $1) AND id > $2
     ORDER BY id
     LIMIT $3
"""
START: Final = UUID(int=0)
PAGE: Final = 100


async def page(
    tx: Tx, *, tenant_id: UUID | None, after: UUID = START, limit: int = PAGE
) -> list[UUID]:
    """The next schedules by id, of a tenant or of all."""
    return [row["id"] for row in await tx.fetch(_IDS, tenant_id, after, limit)]


async def unexplained(
    db: Database, *, since: datetime, slack: timedelta = SLACK, keep: timedelta = KEEP
) -> list[Audited]:
    """Every schedule of a database that has unexplained slots or no timer; for tests and tools."""
    wrong: list[Audited] = []
    after = START
    while True:
        async with db.transaction(read_only=True) as tx:
            ids = await page(tx, tenant_id=None, after=after)
            found = await audited(tx, ids, since=since, slack=slack, keep=keep, most=_ALL)
        checked = [run_at_once(each) for each in found]
        wrong += [each for each in checked if each.unexplained or each.has_no_timer]
        if len(ids) < PAGE:
            return wrong
        after = ids[-1]
