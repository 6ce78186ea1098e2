"""All kinds of schedules through all that can happen to them: 100 % of the slots are explained.

Cron, intervals, one-offs and recurrences, every misfire policy with every overlap policy, fast and
slow targets, go through an outage, pauses, edits, manual runs and deletes. Then every slot that
each of them should have had is looked up: there must be exactly one entry for it, and none besides.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

from tests.cluster.ledger import account, by_cron, entries, every, once
from tests.cluster.nodes import cluster, database_now, eventually, until
from tests.deadlines import crowding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from uuid import UUID

    from tests.cluster.ledger import Account, Entry
    from tests.cluster.sink import Receipt, Sink
    from tests.db.schedules import Office

    from rota.db import Database
    from rota.schedules.schedule import Schedule

    Rule = Callable[[datetime, datetime], list[datetime]]


SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
LEAD = 2 * SECOND
"""How far ahead a firing may have been prepared when its schedule is changed."""
SKEW = SECOND
RRULE_START = datetime(2025, 1, 1, tzinfo=UTC)

MISFIRES = ("fire_late", "fire_most_recent", "skip")
OVERLAPS = ("skip", "queue", "cancel_previous", "allow")
WAITS = (0, 1300)
CAP = 3
DAY_CAP = 10


@dataclass(frozen=True)
class Change:
    """A change that takes effect when it is committed: between its beginning and its end."""

    reason: str
    at: datetime
    done_at: datetime
    heard_by: datetime
    """When every worker has heard of it. One that had to wait for a core may begin a claim that it
    holds ahead before it hears that it should not."""

    def allows(self, entry: Entry) -> bool:
        if self.at < entry.scheduled_for <= self.heard_by:
            return True
        return (
            entry.status in {"skipped", "cancelled"}
            and entry.reason == self.reason
            and self.at - SKEW < entry.scheduled_for <= self.done_at + LEAD
        )


@dataclass
class Kept:
    """A schedule, and what its owner is entitled to."""

    name: str
    schedule: Schedule
    rule: Rule
    since: datetime
    spans: list[tuple[Rule, datetime, datetime]] = field(
        default_factory=list[tuple["Rule", datetime, datetime]]
    )
    ended_at: datetime | None = None
    """It was deleted, or paused for good: slots after that need no entry."""
    taken_back: list[Change] = field(default_factory=list["Change"])
    """Why and when firings prepared ahead were taken back."""
    runs: list[UUID] = field(default_factory=list["UUID"])

    def required(self, horizon: datetime) -> list[datetime]:
        last = min(filter(None, (self.ended_at, horizon)))
        spans = [*self.spans, (self.rule, self.since, last)]
        return [slot for rule, after, until in spans for slot in rule(after, until)]

    def allows(self, entry: Entry) -> bool:
        """Prepared ahead of a change that took it back; cancelled, if its worker could not say."""
        return any(each.allows(entry) for each in self.taken_back)


@dataclass
class Book:
    """All schedules of the test, and the verbs of their owner."""

    office: Office
    sink: Sink
    grace: timedelta = 2 * SECOND
    """Lateness that is no outage: no more than a busy machine makes of nothing."""
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])

    async def add(self, name: str, *, wait: int = 0, **fields: Any) -> Kept:
        """Create it, calling a target that takes so many milliseconds."""
        grace = f"{self.grace // SECOND}s"
        whole = {"misfire_grace": grace, "misfire_cap": CAP, "overlap_policy": "allow", **fields}
        if not {"cron_expr", "rrule", "run_at"}.isdisjoint(whole):
            whole["interval"] = None
        schedule = await self.office.create(
            name=name, job_type=None, target_url=f"{self.sink.url}/{wait}", **whole
        )
        kept = Kept(name, schedule, rule_of(schedule), schedule.created_at)
        self.kept[name] = kept
        return kept

    async def edit(self, name: str, **changes: Any) -> None:
        kept = self.kept[name]
        kept.schedule = (await self.office.update(kept.schedule, **changes)).schedule
        at = kept.schedule.updated_at
        kept.spans.append((kept.rule, kept.since, at))
        kept.rule, kept.since = rule_of(kept.schedule), at
        await self._changed(kept, "edited", at)

    async def pause(self, name: str) -> None:
        kept = self.kept[name]
        kept.schedule = await self.office.pause(kept.schedule)
        await self._changed(kept, "paused", kept.schedule.updated_at)
        kept.ended_at = kept.schedule.updated_at

    async def resume(self, name: str) -> None:
        kept = self.kept[name]
        kept.schedule = await self.office.resume(kept.schedule)
        kept.ended_at = None

    async def delete(self, name: str) -> None:
        kept = self.kept[name]
        kept.ended_at = await database_now(self.office.db)
        await self.office.delete(kept.schedule)
        await self._changed(kept, "deleted", kept.ended_at)

    async def _changed(self, kept: Kept, reason: str, at: datetime) -> None:
        done_at = await database_now(self.office.db)
        heard_by = done_at + LEAD if crowding() > 1 else done_at
        kept.taken_back.append(Change(reason, at, done_at, heard_by))

    async def run(self, name: str) -> None:
        kept = self.kept[name]
        kept.runs.append((await self.office.trigger(kept.schedule)).id)


def rule_of(schedule: Schedule) -> Rule:
    """Its slots, worked out here."""
    definition = schedule.definition
    if definition.cron_expr is not None:
        return by_cron(definition.cron_expr, definition.timezone)
    if definition.run_at is not None:
        return once(definition.run_at)
    if definition.rrule is not None:
        assert definition.rrule.endswith("RRULE:FREQ=SECONDLY;INTERVAL=3")
        return every(3 * SECOND, RRULE_START)
    seconds = int(str(definition.interval).removesuffix("s"))
    rule = every(seconds * SECOND, definition.start_at or schedule.anchor_at)
    end_at = definition.end_at
    if end_at is None:
        return rule
    return lambda after, until: rule(after, min(until, end_at))


async def test_every_slot_of_every_schedule_has_exactly_one_entry(
    tmp_path: Path, dsn: str, db: Database, office: Office, sink: Sink
) -> None:
    slower = math.ceil(min(crowding(), 8))
    book = Book(office, sink, grace=2 * slower * SECOND)
    async with cluster(tmp_path, dsn) as nodes:
        await nodes.start("scheduler", "worker")
        await _populate(book, await database_now(db))
        await until(db, await database_now(db) + 2 * SECOND)
        await _change(book, "live")
        await until(db, await database_now(db) + 2 * SECOND)
        for each in nodes.of("scheduler") + nodes.of("worker"):
            each.kill()
        began = await database_now(db)
        await _change(book, "away")
        day = await _lose_a_day(book)
        await until(db, began + 4 * book.grace)
        await nodes.start("scheduler", "worker")
        await until(db, await database_now(db) + 3 * SECOND)
        await _change_again(book)
        horizon = await database_now(db) + 2 * SECOND
        await _all_ended_past(db, horizon)
        # Before the entries are read: the cluster goes on, and calls what is not among them.
        received = sink.by_firing()
        found = await entries(db)
        tries = await _tries(db)
    explained: Counter[str] = Counter()
    for kept in book.kept.values():
        mine = found[kept.schedule.id]
        past = [each for each in mine if each.scheduled_for <= horizon]
        result = account(kept.required(horizon), past, allowed=kept.allows)
        assert result.is_sound, _told(kept, result)
        _assert_runs(kept, mine)
        _assert_rewording_lost_nothing(kept, mine)
        explained += result.explained
    _assert_policies(book, found, day)
    _assert_receipts(received, found, tries)
    assert [each for each in sink.receipts if each.arrived_at < each.scheduled_for] == []
    print(dict(explained))  # noqa: T201 - what the run was worth
    assert explained["succeeded"] > 100
    kinds = ("skipped: overlap", "skipped: paused", "skipped: edited", "skipped: deleted")
    for what in (*kinds, "cancelled: overlap", "missed: misfire_cap", "missed: misfire_policy"):
        assert explained[what] > 0, what


async def _populate(book: Book, now: datetime) -> None:
    triggers = _triggers()
    for misfire, overlap, wait in product(MISFIRES, OVERLAPS, WAITS):
        fields = next(triggers)
        name = f"{misfire} {overlap} {wait} {fields}"
        await book.add(name, wait=wait, misfire_policy=misfire, overlap_policy=overlap, **fields)
    for when in ("live", "away"):
        await book.add(f"{when} paused", interval="1s")
        await book.add(f"{when} paused once", run_at=(now + 3 * book.grace).isoformat())
        await book.add(f"{when} retimed", interval="1s")
        await book.add(f"{when} recast", interval="2s")
        await book.add(f"{when} deleted", interval="1s")
        await book.add(f"{when} run", interval="2s", wait=1300, overlap_policy="skip")
        await book.add(f"{when} run in line", interval="3s", overlap_policy="queue")
        for number in range(6):
            kind = "skip" if number % 2 else "allow"
            await book.add(f"{when} reworded {number}", interval="1s", overlap_policy=kind)
    await book.add("soon", run_at=(now + 2 * book.grace).isoformat())
    await book.add("in the outage", run_at=(now + 4.5 * book.grace).isoformat())
    await book.add("later", run_at=(now + DAY).isoformat())
    await book.add("ends", interval="1s", end_at=(now + 5.5 * book.grace).isoformat())
    await book.add("stays paused", interval="1s")


def _triggers() -> Iterator[dict[str, Any]]:
    while True:
        yield {"interval": "1s"}
        yield {"cron_expr": "*/2 * * * * *", "timezone": "America/New_York"}
        yield {"rrule": "DTSTART:20250101T000000 RRULE:FREQ=SECONDLY;INTERVAL=3"}
        yield {"interval": "2s"}
        yield {"cron_expr": "* * * * * *"}


async def _change(book: Book, when: str) -> None:
    """What owners do, while the engine runs or while it is away."""
    await book.pause(f"{when} paused")
    await book.pause(f"{when} paused once")
    await book.edit(f"{when} retimed", interval="2s")
    await book.edit(f"{when} recast", interval=None, cron_expr="* * * * * *", timezone="+05:30")
    await book.delete(f"{when} deleted")
    for _ in range(2):
        await book.run(f"{when} run")
        await book.run(f"{when} run in line")
    for number in range(6):
        await book.edit(f"{when} reworded {number}", payload={"number": number})


async def _change_again(book: Book) -> None:
    for when in ("live", "away"):
        await book.resume(f"{when} paused")
        await book.resume(f"{when} paused once")
        await book.edit(f"{when} retimed", interval="1s")
        await book.run(f"{when} run")
    await book.pause("stays paused")


async def _lose_a_day(book: Book) -> Kept:
    """An every-second schedule that nobody has looked at since yesterday."""
    office = book.office
    start_at = (await database_now(office.db) - 2 * DAY).replace(microsecond=0)
    kept = await book.add(
        "a day", interval="1s", start_at=start_at.isoformat(), misfire_cap=DAY_CAP
    )
    first = kept.rule(kept.since - DAY, kept.since)[0]
    await office.set_timer(kept.schedule, first)
    kept.since = first - SECOND
    return kept


async def _all_ended_past(db: Database, instant: datetime) -> None:
    """Return when every slot up to the instant has ended, one way or another."""
    await until(db, instant)

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                """SELECT (SELECT count(*) FROM timers WHERE due_at <= $1)
                        + (SELECT count(*) FROM queue WHERE scheduled_for <= $1)""",
                instant,
            )

    await eventually(look, within=60)


async def _tries(db: Database) -> set[tuple[UUID, int]]:
    """The attempts that came to nothing."""
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT * FROM attempts WHERE outcome <> 'succeeded'")
    return {(row["firing_id"], row["attempt"]) for row in rows}


def _told(kept: Kept, result: Account) -> str:
    """What is wrong, in full."""
    wrong = [*result.unexplained, *result.twice, *result.phantoms, *result.miscounted]
    since = [(str(after), str(until)) for _, after, until in kept.spans]
    lines = [f"{kept.name}, until {kept.ended_at}", *map(str, wrong), *map(str, kept.taken_back)]
    return "\n".join([*lines, f"earlier spans {since}, the last since {kept.since}"])


def _assert_runs(kept: Kept, mine: list[Entry]) -> None:
    """What was asked for is there, once each, and nothing that was not."""
    runs = Counter(each.id for each in mine if each.triggered_by != "schedule")
    assert runs == Counter(kept.runs), kept.name


def _assert_rewording_lost_nothing(kept: Kept, mine: list[Entry]) -> None:
    """A change of what is sent leaves alone when it is sent: prepared slots fire as edited."""
    if "reworded" in kept.name:
        (edited,) = kept.taken_back
        lost = [each for each in mine if each.reason == "edited"]
        assert all(each.scheduled_for <= edited.heard_by for each in lost), (kept.name, lost)


def _assert_policies(book: Book, found: dict[UUID, list[Entry]], day: Kept) -> None:
    """I11: the newest of an outage are fired, as many as the policy says; the others are missed."""
    caps = {"fire_late": CAP, "fire_most_recent": 1, "skip": 0}
    for kept in book.kept.values():
        if kept.name.split()[0] in caps:
            cap = caps[kept.name.split()[0]]
            _assert_newest_caught_up(kept, found[kept.schedule.id], cap)
    _assert_newest_caught_up(day, found[day.schedule.id], DAY_CAP)
    missed = [each for each in found[day.schedule.id] if each.status == "missed"]
    assert len(missed) == 1
    assert missed[0].slot_count >= DAY // SECOND - DAY_CAP


def _assert_newest_caught_up(kept: Kept, mine: list[Entry], cap: int) -> None:
    late = [each.scheduled_for for each in mine if each.catch_up]
    missed = [each for each in mine if each.status == "missed"]
    assert len(late) <= cap, (kept.name, late)
    if missed:
        last = missed[-1].last_slot_at or missed[-1].scheduled_for
        assert len(late) == cap, (kept.name, late, missed)
        assert all(last < slot for slot in late), kept.name


def _assert_receipts(
    received: Mapping[UUID, list[Receipt]],
    found: dict[UUID, list[Entry]],
    tries: set[tuple[UUID, int]],
) -> None:
    """No call of nothing, and a second one only after one that failed."""
    known = {each.id for some in found.values() for each in some}
    for id_, some in received.items():
        assert id_ in known
        some.sort(key=lambda each: each.attempt)
        assert all((each.firing_id, each.attempt) in tries for each in some[:-1]), some
