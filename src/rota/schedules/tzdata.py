"""Moving timers to the rules of a newer tzdata package.

A timer knows the instant of its next slot, computed by the zone rules of the node that armed it.
When a node with newer rules takes a shard it first moves the timers whose zone has other rules now.
The local time of a slot stays and its instant moves; nothing fires twice for one local time, and
nothing for an instant that has passed. The files of every package that was in use are kept: to know
the local time of a slot that older rules named, one has to have them.

Each shard records whose rules its timers follow. Rules only ever move forward: a node with older
ones moves nothing, and says in the record that it fires there.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

import msgspec

from rota import timers
from rota.queue import record
from rota.schedules import next_slot
from rota.schedules import schedule as schedules
from rota.schedules.calendars import days
from rota.schedules.definition import decode
from rota.triggers import zones
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.preview import innermost

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rota.db import FencedTx, Row, Tx
    from rota.triggers.trigger import Trigger
    from rota.triggers.zones import Zone

BATCH: Final = 1_000
"""How many timers one transaction looks at."""

_START = UUID(int=0)
_TICK = timedelta(microseconds=1)
_FILES = msgspec.msgpack.Decoder(dict[str, bytes])


@dataclass(frozen=True, slots=True)
class Package:
    """One version of the rules: each zone's file."""

    version: str
    digest: str
    files: Mapping[str, bytes] = field(repr=False)

    def zone(self, name: str) -> Zone | None:
        """The zone by these rules; None when they do not have it."""
        data = self.files.get(name)
        return None if data is None else zones.from_file(name, data)

    def changed_from(self, old: Package) -> frozenset[str]:
        """The zones whose rules are not those of the other version."""
        return frozenset(
            name for name, data in self.files.items() if old.files.get(name) not in (data, None)
        )


@cache
def installed() -> Package:
    """The package of this process. Reads some hundred files: not for an event loop."""
    files = zones.package_files()
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(name.encode() + b"\0" + data)
    return Package(zones.VERSION, digest.hexdigest(), files)


def moved_slot(
    trigger: Trigger,
    slot: datetime,
    *,
    old: Zone | None,
    now: datetime,
    known: Collection[datetime] = (),
    mixed: bool = False,
) -> datetime | None:
    """The slot to arm instead of `slot`, which was armed by the zone's old rules; None to keep it.

    The slot of the same local time by the new rules: a local time that has fired does not fire
    again, though the new rules put it later the same day. A wildcard expression fires whenever the
    clock reads a match, so it goes on with its next slot from now. What the new rules put into the
    past is not fired, and a schedule without a later slot keeps the one it has. `known` are slots
    to come that are in the queue or recorded. Without `old` nobody knows the old rules; when the
    timers are `mixed`, a slot that the new rules have is taken for one of theirs. Pure.
    """
    is_slot = trigger.next_after(slot - _TICK) == slot
    if is_slot and (old is None or mixed):
        return None
    new = zones.zone(trigger.timezone)
    if old is not None and all(
        old.offset_at(at) == new.offset_at(at) for at in (floor_second(slot), floor_second(now))
    ):
        return None
    latest = max(now, *known) if known else now
    candidate = _same_time(trigger, slot, old=old, new=new, now=now)
    if candidate is None or candidate == slot:
        return None
    if candidate <= now and slot <= now:
        # Overdue either way: what becomes of it is for the misfire policy to say, once.
        return candidate if candidate > slot else None
    return candidate if candidate > latest else _other(trigger.next_after(latest), slot)


def _other(found: datetime | None, slot: datetime) -> datetime | None:
    return None if found == slot else found


def _same_time(
    trigger: Trigger, slot: datetime, *, old: Zone | None, new: Zone, now: datetime
) -> datetime | None:
    """The first slot by the new rules of what is not decided yet; it may have passed."""
    if old is None:
        return _nearest(trigger, slot)
    inner = innermost(trigger)
    if isinstance(inner, Cron) and inner.pattern.is_wildcard:
        return trigger.next_after(slot - _TICK if slot <= now else now)
    first = instant_at(new.first_instant(_local_time(old, floor_second(slot))))
    return trigger.next_after(first - _TICK)


def _local_time(old: Zone, second: int) -> int:
    """What the clock read at a slot; at the end of a gap, the first of the times in it."""
    stretch = old.stretch_at(second)
    gap = old.gap_before(stretch)
    if second == old.starts[stretch] and 0 < gap < zones.DATE_LINE_GAP:
        return old.reached[stretch]
    return second + old.offsets[stretch]


def _nearest(trigger: Trigger, slot: datetime) -> datetime | None:
    before, after = trigger.previous_before(slot), trigger.next_after(slot)
    if before is None or after is None:
        return after
    return before if slot - before < after - slot else after


def depends_on_rules(trigger: Trigger, changed: Collection[str] | None) -> bool:
    """Whether other rules of these zones, or of nobody knows which, give it other slots."""
    return follows_zone(trigger, zones.names() if changed is None else changed)


def follows_zone(trigger: Trigger, names: Collection[str]) -> bool:
    """Whether its slots follow the rules of one of these zones: an interval's do not."""
    return trigger.timezone in names and not isinstance(innermost(trigger), Interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Shards whose timers are to be moved, all from the same rules, and how far that is."""

    old: Package | None
    """None when nobody recorded by which rules their timers were armed."""
    changed: frozenset[str]
    """The zones whose rules are others now."""
    mixed: bool
    after: Mapping[int, UUID]
    """For each shard, the last timer that was looked at."""

    def may_move(self, trigger: Trigger, slot: datetime) -> bool:
        """Whether a timer may be one of those to be moved, and so must not be fired before."""
        if self.old is None:
            return trigger.next_after(slot - _TICK) != slot
        return follows_zone(trigger, self.changed)

    def without(self, shards: Collection[int]) -> Update:
        """The same of the other shards."""
        return replace(
            self, after={shard: at for shard, at in self.after.items() if shard not in shards}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where some shards stand, next to the package of this process."""

    settled: frozenset[int]
    to_move: tuple[Update, ...]
    newer: Mapping[int, str]
    """Shards whose timers follow a newer version than this process has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A timer that was moved."""

    schedule_id: UUID
    tenant_id: UUID
    name: str
    timezone: str
    was: datetime
    slot: datetime


_RECORD: LiteralString = """
    INSERT INTO tzdata_versions (digest, version, files) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
"""

_VERSIONS: LiteralString = "SELECT digest, version, recorded_at FROM tzdata_versions"

_SHARDS: LiteralString = """
    SELECT x.shard, t.digest, coalesce(t.mixed, false) AS mixed, p.digest AS moving_to, p.after_id
      FROM unnest($1::smallint[]) AS x (shard)
      LEFT JOIN shard_tzdata t ON t.shard = x.shard
      LEFT JOIN shard_tzdata_progress p ON p.shard = x.shard
     ORDER BY x.shard
"""


async def standing(tx: Tx, shards: Sequence[int], package: Package) -> Standing:
    """By whose rules the timers of these shards were armed. Records this package as one in use."""
    ages = await _ages(tx)
    if package.digest not in ages:
        files = zlib.compress(msgspec.msgpack.encode(dict(package.files)))
        await tx.execute(_RECORD, package.digest, package.version, files)
        ages = await _ages(tx)
    own = ages[package.digest]
    settled: set[int] = set()
    newer: dict[int, str] = {}
    to_move: dict[tuple[str | None, bool], dict[int, UUID]] = {}
    for row in await tx.fetch(_SHARDS, list(shards)):
        digest, moving_to = row["digest"], row["moving_to"]
        ahead = [each for each in (digest, moving_to) if each is not None and ages[each] > own]
        if ahead:
            newer[row["shard"]] = max(ages[each] for each in ahead)[0]
        elif digest == package.digest and not row["mixed"]:
            settled.add(row["shard"])
        else:
            after = row["after_id"] if moving_to == package.digest else _START
            to_move.setdefault((digest, row["mixed"]), {})[row["shard"]] = after
    updates: list[Update] = []
    for (digest, mixed), after in to_move.items():
        old = None if digest is None else await _read(tx, digest)
        changed = frozenset[str]() if old is None else package.changed_from(old)
        updates.append(Update(old=old, changed=changed, mixed=mixed, after=after))
    return Standing(settled=frozenset(settled), to_move=tuple(updates), newer=newer)


async def _ages(tx: Tx) -> dict[str, tuple[str, datetime]]:
    """Of two packages the one with the greater value is newer; of one version, the later one."""
    rows = await tx.fetch(_VERSIONS)
    return {row["digest"]: (row["version"], row["recorded_at"]) for row in rows}


async def _read(tx: Tx, digest: str) -> Package:
    row = await tx.fetch_row("SELECT version, files FROM tzdata_versions WHERE digest = $1", digest)
    assert row is not None
    return Package(row["version"], digest, _FILES.decode(zlib.decompress(row["files"])))


_FOLLOW: LiteralString = """
    SELECT v.version, count(*) AS shards
      FROM shard_tzdata t JOIN tzdata_versions v ON v.digest = t.digest
     GROUP BY v.version
"""


async def follow(tx: Tx) -> dict[str, int]:
    """How many shards have timers by the rules of each version."""
    return {row["version"]: row["shards"] for row in await tx.fetch(_FOLLOW)}


# Fired by older rules from now on: who comes with newer ones looks at all of its timers again.
_FIRED_BY_OLDER: LiteralString = """
    WITH stopped AS (
        DELETE FROM shard_tzdata_progress WHERE shard = ANY ($1::smallint[])
    )
    INSERT INTO shard_tzdata AS t (shard, digest, mixed)
    SELECT x.shard, $2, true FROM unnest($1::smallint[]) AS x (shard)
        ON CONFLICT (shard) DO UPDATE
           SET digest = excluded.digest, mixed = true, changed = NULL,
               moved_at = clock_timestamp()
"""


async def note_older(tx: FencedTx, package: Package) -> None:
    """The timers of the shards that the transaction has will be fired by these older rules."""
    await tx.execute(_FIRED_BY_OLDER, list(tx.fences), package.digest)


_PAGE: LiteralString = """
    SELECT t.schedule_id
      FROM timers t
      JOIN unnest($1::smallint[], $2::uuid[]) AS x (shard, after_id)
        ON x.shard = t.shard AND t.schedule_id > x.after_id
     WHERE t.schedule_id > $3
     ORDER BY t.schedule_id
     LIMIT $4
"""

# Only what can have moved; `changed` is null when nobody knows what has. The version of the
# schedule, so that one that was edited just now is passed over: it was armed by that.
_LOCK: LiteralString = """
    SELECT t.schedule_id, t.shard, t.scheduled_for, t.version, t.fired, s.tenant_id, s.name,
           s.anchor_at, s.definition::text AS definition, c.days
      FROM timers t
      JOIN schedules s ON s.id = t.schedule_id AND s.version = t.version
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE t.schedule_id = ANY ($1::uuid[]) AND t.due_at < 'infinity'
       AND (s.definition ? 'rrule' OR s.definition ? 'text'
            OR (s.definition ? 'cron_expr' AND s.definition ? 'timezone'
                AND ($2::text[] IS NULL OR s.definition ->> 'timezone' = ANY ($2))))
     ORDER BY t.schedule_id
       FOR UPDATE OF t
"""

_GO_ON: LiteralString = """
    INSERT INTO shard_tzdata_progress (shard, digest, after_id)
    SELECT x.shard, $2, $3 FROM unnest($1::smallint[]) AS x (shard)
        ON CONFLICT (shard) DO UPDATE SET digest = excluded.digest, after_id = excluded.after_id
"""

_SETTLE: LiteralString = """
    WITH done AS (
        DELETE FROM shard_tzdata_progress WHERE shard = ANY ($1::smallint[])
    )
    INSERT INTO shard_tzdata AS t (shard, digest, changed)
    SELECT x.shard, $2, $3::text[] FROM unnest($1::smallint[]) AS x (shard)
        ON CONFLICT (shard) DO UPDATE
           SET digest = excluded.digest, mixed = false, changed = t.changed || excluded.changed,
               moved_at = clock_timestamp()
"""


async def move_some(
    tx: FencedTx, update: Update, package: Package, *, limit: int = BATCH
) -> tuple[list[Moved], Update | None]:
    """Move the next timers of the shards that the transaction has; what is left, None when all is
    done. Its position is written with it: the next node goes on from there."""
    after = {shard: update.after[shard] for shard in tx.fences}
    page = await tx.fetch(_PAGE, list(after), list(after.values()), min(after.values()), limit)
    found = [row["schedule_id"] for row in page]
    moved = await _move(tx, found, update) if found else []
    if len(found) < limit:
        changed = None if update.old is None else sorted(update.changed)
        await tx.execute(_SETTLE, list(after), package.digest, changed)
        return moved, None
    await tx.execute(_GO_ON, list(after), package.digest, found[-1])
    left = {shard: max(found[-1], each) for shard, each in after.items()}
    return moved, replace(update, after=left)


async def _move(tx: FencedTx, schedule_ids: Sequence[UUID], update: Update) -> list[Moved]:
    changed = None if update.old is None else update.changed
    rows = await tx.fetch(_LOCK, list(schedule_ids), None if changed is None else list(changed))
    if not rows:
        return []
    now = await schedules.now(tx)
    known = await record.known_slots(tx, [row["schedule_id"] for row in rows], after=now)
    # In a thread: some hundred triggers would keep everything else in the process waiting.
    decided = await asyncio.to_thread(
        lambda: [_decide(row, update, known.get(row["schedule_id"], ()), now) for row in rows]
    )
    chosen = [each for each in decided if each is not None]
    await timers.arm(tx, [armed for armed, _ in chosen])
    return [moved for _, moved in chosen]


def _decide(
    row: Row, update: Update, known: Collection[datetime], now: datetime
) -> tuple[timers.Armed, Moved] | None:
    definition = decode(row["definition"])
    trigger = definition.trigger(row["anchor_at"], row["days"] and days.decode(row["days"]))
    if update.old is not None and not follows_zone(trigger, update.changed):
        return None
    old = None if update.old is None else update.old.zone(trigger.timezone)
    was: datetime = row["scheduled_for"]
    slot = moved_slot(trigger, was, old=old, now=now, known=known, mixed=update.mixed)
    if slot is None:
        return None
    id_: UUID = row["schedule_id"]
    armed = timers.Armed(
        schedule_id=id_,
        shard=row["shard"],
        scheduled_for=slot,
        due_at=next_slot.due_at(id_, definition, slot),
        version=row["version"],
        fired=row["fired"],
    )
    return armed, Moved(
        schedule_id=id_,
        tenant_id=row["tenant_id"],
        name=row["name"],
        timezone=trigger.timezone,
        was=was,
        slot=slot,
    )
