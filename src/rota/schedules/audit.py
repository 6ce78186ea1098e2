"""The audit trail: who changed which schedule, when and how; and what a schedule was at an instant.

A change is recorded in the transaction that makes it, before the schedule's row is written: the
statement reads from the row what it was. So the state at any instant is what the first change after
it found, or the schedule as it is now; a change that was not recorded (by an older version of Rota)
is noticed, and what cannot be known is `unknown`.

The actor is the transaction's (`Tx.actor`): from where and by whom, such as `cli:PREFIX`.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, NamedTuple
from urllib.parse import urlsplit

import msgspec

from rota.schedules import definition as definitions
from rota.schedules import fields
from rota.schedules.calendars import sql as calendars
from rota.schedules.schedule import COLUMNS, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Status
    from rota.triggers.calendars import Days
    from rota.triggers.trigger import Trigger

Action = Literal[
    "created",
    "edited",
    "paused",
    "resumed",
    "completed",
    "deleted",
    "triggered",
    "replayed",
    "backfilled",
]
ACTIONS: Final[tuple[Action, ...]] = (
    "created",
    "edited",
    "paused",
    "resumed",
    "completed",
    "deleted",
    "triggered",
    "replayed",
    "backfilled",
)
RUNS: Final = ("triggered", "replayed", "backfilled")
"""They ask for firings and leave the schedule as it is."""

State = Literal["active", "paused", "completed", "deleted", "absent", "unknown"]
"""`absent` is before it was created. `unknown`: nothing was recorded that could tell."""

SENT: Final = (
    *("payload", "headers", "body", "steps", "target_url", "idempotency_key"),
    "description",
)
"""What a definition is kept without: it may be large or secret, and slots do not depend on it."""

MOST_STATES: Final = 10_000
"""Changes of one schedule that are looked back over."""
LOOK: Final = 10_000
"""Changes that are looked at for one page."""
_LAST: Final = 2**63 - 1
_TICK: Final = timedelta(microseconds=1)
_MAX_SHOWN: Final = 200
"""Characters of an old or a new value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that somebody did to a schedule."""

    id: int | None
    """In the order of time; None of a creation that has no row of its own."""
    schedule_id: UUID | None
    """None of many that were created in one request."""
    at: datetime
    action: Action
    actor: str | None
    """None when it was created before there was an audit trail."""
    status: str | None
    """Afterwards; None when it was deleted."""
    version: int | None
    fields: Mapping[str, Mapping[str, Any]]
    """What was changed: its old and new value, or `redacted`."""
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a schedule was from an instant until another."""

    since: datetime
    until: datetime
    state: State
    version: int | None = None
    definition: Definition | None = None
    """Without what it sends; None when it is not known."""
    anchor_at: datetime | None = None
    calendar_version: int | None = None
    """Of the days of its calendar that it was armed by."""
    began: Change | None = None
    """The change that began it, if that was recorded."""
    ended: Change | None = None
    """The change that ended it; None for the present."""

    @property
    def slots_until(self) -> datetime:
        """Its slots are before this instant. A schedule that is completed has none after its last,
        whenever that was noticed."""
        last = None if self.ended is None else self.ended.details.get("last_slot")
        return self.until if last is None else min(self.until, datetime.fromisoformat(last) + _TICK)

    def slots(self, days: Days | None = None) -> Trigger | None:
        """The instants it named, by these days of its calendar; of a monitor, those of its pings.

        None when it had none, or they are not known.
        """
        if self.definition is None or self.anchor_at is None:
            return None
        expected = self.definition.expected(self.anchor_at, days)
        return expected or self.definition.trigger(self.anchor_at, days)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A schedule's spans, and what is known of the schedule itself."""

    schedule_id: UUID
    tenant_id: UUID
    key: str
    name: str
    created_at: datetime
    created_by: str | None
    deleted: Change | None
    """When it is no more."""
    spans: list[Span]
    """In the order of time; without gaps."""

    def at(self, instant: datetime) -> Span | None:
        """The span that the instant is in."""
        return next((each for each in self.spans if each.since <= instant < each.until), None)


# Before the schedules are changed: it reads what they were. Runs (`RUNS`) change no state.
_RECORD: LiteralString = """
    INSERT INTO audit (tenant_id, schedule_id, at, action, actor, status, version, was_status,
                       was_version, was_since, was, changes)
    SELECT s.tenant_id, s.id, coalesce($3::timestamptz, clock_timestamp()), $2::text, $4::text,
           CASE WHEN $2 <> 'deleted' THEN coalesce($5::text, s.status) END,
           CASE WHEN $2 <> 'deleted' THEN s.version + $6::integer END,
           CASE WHEN $2 <> ALL ($9::text[]) THEN s.status END,
           CASE WHEN $2 <> ALL ($9::text[]) THEN s.version END,
           CASE WHEN $2 <> ALL ($9::text[]) THEN s.updated_at END,
           CASE WHEN $2 IN ('edited', 'deleted') THEN
                jsonb_build_object('definition', s.definition - $8::text[],
                                   'anchor_at', s.anchor_at,
                                   'calendar_version', s.calendar_version,
                                   'created_at', s.created_at, 'created_by', s.created_by) END,
           coalesce(x.changes, ($7::jsonb[])[1])
      FROM unnest($1::uuid[], $7::jsonb[]) AS x(id, changes)
      JOIN schedules s ON s.id = x.id
     ORDER BY s.id
"""


async def record(
    tx: Tx,
    action: Action,
    schedule_ids: Iterable[UUID],
    *,
    at: datetime | None = None,
    status: Status | None = None,
    changes: Mapping[str, Any] | list[dict[str, Any]] | None = None,
) -> None:
    """Record what is about to be done to these schedules, which are locked and not changed yet.

    `status` is theirs afterwards, None for what they have; an edit makes the version one more.
    `changes` is of all of them, or one for each; `edit` and `noted` make it.
    """
    each = [] if changes is None else [changes] if not isinstance(changes, list) else changes
    await tx.execute(
        _RECORD,
        list(schedule_ids),
        action,
        at,
        tx.actor,
        status,
        1 if action == "edited" else 0,
        [msgspec.json.encode(one).decode() for one in each],
        list(SENT),
        list(RUNS),
    )


# A part of the statement that creates schedules (`create.insert`): `made` has those that were
# created, if each is recorded by itself.
CREATED: LiteralString = """
        INSERT INTO audit (tenant_id, schedule_id, at, action, actor, status, version)
        SELECT made.tenant_id, made.id, made.at, 'created', made.actor, made.status, 1
          FROM made
"""

_CREATED_MANY: LiteralString = """
    INSERT INTO audit (tenant_id, at, action, actor, changes)
    VALUES ($1, $2, 'created', $3, jsonb_build_object('count', $4::integer))
"""


async def created_many(tx: Tx, tenant_id: UUID, count: int, *, at: datetime) -> None:
    """Record that many schedules were created at once: one row; each says itself who made it."""
    await tx.execute(_CREATED_MANY, tenant_id, at, tx.actor, count)


# A part of the statement that fires (`firing.fire`): `completed` has the ids of the schedules that
# are completed by it, `lasts` the last slot of each. Their rows are read as they were before. The
# last slot is written down because the statement may be late: a slot that passes before it commits
# is none of a schedule that has fired as often as it may.
COMPLETED: LiteralString = """
        INSERT INTO audit (tenant_id, schedule_id, at, action, actor, status, version, was_status,
                           was_version, was_since, changes)
        SELECT c.tenant_id, c.id, c.updated_at, 'completed', 'rota', 'completed', c.version,
               'active', c.version,
               (SELECT o.updated_at FROM schedules o WHERE o.id = c.id),
               jsonb_build_object('last_slot', l.last_slot)
          FROM completed c
          JOIN lasts l ON l.schedule_id = c.id
"""


def edit(old: Definition, new: Definition) -> dict[str, Any]:
    """The fields that differ, with their values where they are short and cannot be secret. Pure."""
    before, after = fields.write(old), fields.write(new)
    names = [
        name for name in (*before, *(n for n in after if n not in before)) if name != "enabled"
    ]
    changed = {
        name: _values(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    }
    return {"fields": changed}


def noted(**values: object) -> dict[str, Any]:
    """Fields that got these values; None ones are left out. Pure."""
    given = {name: {"old": None, "new": value} for name, value in values.items() if value}
    return {"fields": given} if given else {}


def _values(name: str, old: Any, new: Any) -> dict[str, Any]:
    if name == "headers":
        # Their names alone: a value may be a credential.
        return {
            "old": _short(sorted(old or {})),
            "new": _short(sorted(new or {})),
            "redacted": True,
        }
    if name in {"payload", "body", "steps", "idempotency_key"}:
        return {"redacted": True}
    if name in {"target_url", "stream"}:
        old, new = _without_secrets(old), _without_secrets(new)
    return {"old": _short(old), "new": _short(new)}


def _without_secrets(url: str | None) -> str | None:
    """A query, and what stands before the host, may be a credential."""
    if url is None:
        return None
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="…" if parts.query else "", fragment="").geturl()


def _short(value: Any) -> Any:
    text = msgspec.json.encode(value).decode()
    if len(text) <= _MAX_SHOWN:
        return msgspec.json.decode(text)
    return (value if isinstance(value, str) else text)[: _MAX_SHOWN - 1] + "…"


_PRESENT: LiteralString = f"""
    SELECT {COLUMNS}, s.created_by, s.calendar_version
      FROM schedules s
     WHERE s.id = $1
"""

_COLUMNS: LiteralString = """
    SELECT a.id, a.tenant_id, a.schedule_id, a.at, a.action, a.actor, a.status, a.version,
           a.was_status, a.was_version, a.was_since, a.was::text AS was, a.changes::text AS changes
      FROM audit a
"""

# All that change the state after an instant, and the last one before it: that began what it was.
_STATES: LiteralString = (
    "("
    + _COLUMNS
    + """
     WHERE a.schedule_id = $1 AND a.was_status IS NOT NULL AND a.at > $2
       AND (a.was_status, a.was_version) IS DISTINCT FROM (a.status, a.version)
     ORDER BY a.id DESC LIMIT $3)
     UNION ALL ("""
    + _COLUMNS
    + """
     WHERE a.schedule_id = $1 AND a.was_status IS NOT NULL AND a.at <= $2
       AND (a.was_status, a.was_version) IS DISTINCT FROM (a.status, a.version)
     ORDER BY a.id DESC LIMIT 1)
     ORDER BY id DESC
"""
)


async def spans(tx: Tx, schedule_id: UUID, *, since: datetime, until: datetime) -> list[Span]:
    """What the schedule was from `since` until `until`, without gaps; nothing if it never was."""
    found = await history(tx, schedule_id, since=since, until=until)
    return [] if found is None else found.spans


async def history(tx: Tx, schedule_id: UUID, *, since: datetime, until: datetime) -> History | None:
    """What the schedule was from `since` until `until`, also when it has been deleted.

    None when there is no trace of it.
    """
    present = await tx.fetch_row(_PRESENT, schedule_id)
    rows = await tx.fetch(_STATES, schedule_id, since, MOST_STATES)
    changes = [_Recorded.of(row) for row in rows]
    if present is not None:
        known = _Known(
            created_at=present["created_at"],
            created_by=present["created_by"],
            last=_Standing(
                state=present["status"],
                version=present["version"],
                since=present["updated_at"],
                definition=definitions.decode(present["definition"]),
                anchor_at=present["anchor_at"],
                calendar_version=present["calendar_version"],
            ),
        )
        tenant_id, key, name, deleted = present["tenant_id"], present["key"], present["name"], None
    elif changes and changes[0].change.action == "deleted" and changes[0].was is not None:
        last = changes[0]
        was = changes[0].was
        known = _Known(created_at=was.created_at, created_by=was.created_by, last=_DELETED)
        tenant_id, deleted = rows[0]["tenant_id"], last.change
        key, name = was.definition.key, was.definition.name
    else:
        return None
    return History(
        schedule_id=schedule_id,
        tenant_id=tenant_id,
        key=key,
        name=name,
        created_at=known.created_at,
        created_by=known.created_by,
        deleted=deleted,
        spans=_spans(known, changes, since=since, until=until),
    )


class _Was(msgspec.Struct, frozen=True):
    """A schedule as it was, in the row of a change."""

    definition: definitions.Definition
    anchor_at: datetime
    created_at: datetime
    calendar_version: int | None = None
    created_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What a schedule was, and since when at the latest."""

    state: State
    version: int | None
    since: datetime | None
    definition: Definition | None
    anchor_at: datetime | None
    calendar_version: int | None


_DELETED: Final = _Standing(
    state="deleted",
    version=None,
    since=None,
    definition=None,
    anchor_at=None,
    calendar_version=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    created_at: datetime
    created_by: str | None
    last: _Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """A change of the state, and what it found."""

    change: Change
    was_status: Any
    was_version: int
    was_since: datetime
    was: _Was | None

    @staticmethod
    def of(row: Row) -> _Recorded:
        stored = row["was"]
        return _Recorded(
            change=of_row(row),
            was_status=row["was_status"],
            was_version=row["was_version"],
            was_since=row["was_since"],
            was=None if stored is None else msgspec.json.decode(stored, type=_Was),
        )

    def follows(self, later: _Standing) -> bool:
        """Whether it left the schedule as what is known of afterwards."""
        return (self.change.status or "deleted", self.change.version) == (
            later.state,
            later.version,
        )

    def before(self, later: _Standing) -> _Standing:
        """What the schedule was before it."""
        standing = _Standing(
            state=self.was_status,
            version=self.was_version,
            since=self.was_since,
            definition=None,
            anchor_at=None,
            calendar_version=None,
        )
        if self.was is not None:
            return replace(
                standing,
                definition=self.was.definition,
                anchor_at=self.was.anchor_at,
                calendar_version=self.was.calendar_version,
            )
        if self.was_version != later.version:
            return standing
        return replace(
            standing,
            definition=later.definition,
            anchor_at=later.anchor_at,
            calendar_version=later.calendar_version,
        )


def _spans(
    known: _Known, changes: Sequence[_Recorded], *, since: datetime, until: datetime
) -> list[Span]:
    """From the present back to `since`, change by change. Pure."""
    found: list[Span] = []

    def add(
        start: datetime,
        end: datetime,
        standing: _Standing | None,
        *,
        state: State | None = None,
        began: Change | None = None,
        ended: Change | None = None,
    ) -> None:
        start, end = max(start, since), min(end, until)
        if start >= end:
            return
        shown = standing or _DELETED
        found.append(
            Span(
                since=start,
                until=end,
                state=state or shown.state,
                version=shown.version,
                definition=shown.definition,
                anchor_at=shown.anchor_at,
                calendar_version=shown.calendar_version,
                began=began,
                ended=ended,
            )
        )

    standing, end, ended = known.last, max(until, since), None
    for each in changes:
        start = min(each.change.at, end)
        if each.follows(standing):
            add(start, end, standing, began=each.change, ended=ended)
        else:
            # Something was changed between the two that nobody recorded.
            certain = max(start, min(standing.since or end, end))
            add(certain, end, standing, ended=ended)
            add(start, certain, None, state="unknown", began=each.change)
        standing, end, ended = each.before(standing), start, each.change
    created = min(known.created_at, end)
    certain = max(created, min(standing.since or end, end))
    add(certain, end, standing, ended=ended)
    add(created, certain, None, state="unknown")
    add(since, created, None, state="absent")
    found.reverse()
    return found


_DELETED_ROW: LiteralString = """
    SELECT was_status, was_version, was_since, was::text AS was
      FROM audit
     WHERE tenant_id = $1 AND schedule_id = $2 AND action = 'deleted'
     ORDER BY id DESC
     LIMIT 1
"""


async def deleted(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Schedule | None:
    """A deleted schedule of the tenant as it was last, without what it sent; None without one."""
    row = await tx.fetch_row(_DELETED_ROW, tenant_id, schedule_id)
    if row is None:
        return None
    was = msgspec.json.decode(row["was"], type=_Was)
    name = was.definition.calendar
    calendar = None
    if name is not None:
        calendar = (await calendars.named(tx, tenant_id, [name])).known.get(name)
    return Schedule(
        id=schedule_id,
        tenant_id=tenant_id,
        key=was.definition.key,
        name=was.definition.name,
        status=row["was_status"],
        version=row["was_version"],
        shard=0,
        anchor_at=was.anchor_at,
        definition=was.definition,
        created_at=was.created_at,
        updated_at=row["was_since"],
        calendar=calendar,
    )


_FROM_WHERE: Final[Mapping[str, str]] = {
    "api": "through the API",
    "cli": "on the command line",
    "apply": "by rota apply",
    "dashboard": "on the dashboard",
}


def words(actor: str | None) -> str:
    """An actor in a sentence, such as "on the command line (key 1a2b)". Pure."""
    if actor is None:
        return "by an unknown actor"
    via, _, who = actor.partition(":")
    if via in _FROM_WHERE:
        return f"{_FROM_WHERE[via]} ({who if who == 'operator' else f'key {who}'})"
    return f"by the program {who}" if via == "code" else "by Rota"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which changes are asked for; None asks for all."""

    schedule_id: UUID | None = None
    actor: str | None = None
    """All of it, or one of its two parts: from where, or by whom."""
    action: str | None = None
    since: datetime | None = None

    def fits(self, change: Change) -> bool:
        actor = change.actor or ""
        return (
            (self.action is None or change.action == self.action)
            and (self.actor is None or self.actor in {actor, *actor.split(":", 1)})
            and (self.since is None or change.at >= self.since)
        )


class Listed(NamedTuple):
    """A change, and what its schedule is called."""

    change: Change
    key: str | None
    name: str | None


class ChangePage(NamedTuple):
    """Some changes, the newest first, and where the next page begins; None when it is the last."""

    changes: list[Listed]
    next_id: int | None


# Changes are looked at in their order and then narrowed down: a filter that fits nothing must not
# read the whole trail at once.
_LOOK_OF_TENANT: LiteralString = """
    WITH looked AS MATERIALIZED (
        SELECT id, at, action, actor FROM audit
         WHERE tenant_id = $1 AND id < $2 AND $7::uuid IS NULL
         ORDER BY id DESC
         LIMIT $3
    )"""

_LOOK_OF_SCHEDULE: LiteralString = """
    WITH looked AS MATERIALIZED (
        SELECT id, at, action, actor FROM audit
         WHERE tenant_id = $1 AND id < $2 AND schedule_id = $7
         ORDER BY id DESC
         LIMIT $3
    )"""

_FITTING: LiteralString = """
    , fitting AS (
        SELECT id FROM looked
         WHERE ($4::text IS NULL OR action = $4)
           AND ($5::text IS NULL OR $5 IN (actor, split_part(actor, ':', 1),
                                           substring(actor FROM position(':' IN actor) + 1)))
           AND ($6::timestamptz IS NULL OR at >= $6)
         ORDER BY id DESC
         LIMIT $8
    )
    SELECT e.seen, e.last, a.id, a.schedule_id, a.at, a.action, a.actor, a.status, a.version,
           a.changes::text AS changes
      FROM (SELECT count(*) AS seen, min(id) AS last FROM looked) AS e
      LEFT JOIN fitting f ON true
      LEFT JOIN audit a ON a.tenant_id = $1 AND a.id = f.id
     ORDER BY f.id DESC
"""

# What schedules are called; of deleted ones, what they were called last.
_NAMES: LiteralString = """
    SELECT s.id, s.key, s.name FROM schedules s WHERE s.tenant_id = $1 AND s.id = ANY ($2::uuid[])
     UNION ALL
    SELECT a.schedule_id, a.was -> 'definition' ->> 'key', a.was -> 'definition' ->> 'name'
      FROM audit a
     WHERE a.tenant_id = $1 AND a.schedule_id = ANY ($2::uuid[]) AND a.action = 'deleted'
"""

_HAS_CREATED: LiteralString = """
    SELECT action = 'created' FROM audit
     WHERE tenant_id = $1 AND schedule_id = $2 ORDER BY id LIMIT 1
"""

_CREATION: LiteralString = """
    SELECT s.created_at, s.created_by FROM schedules s WHERE s.tenant_id = $1 AND s.id = $2
     UNION ALL
    SELECT (a.was ->> 'created_at')::timestamptz, a.was ->> 'created_by'
      FROM audit a
     WHERE a.tenant_id = $1 AND a.schedule_id = $2 AND a.action = 'deleted'
"""


async def page(
    tx: Tx, tenant_id: UUID, wanted: Filter, *, before: int | None, limit: int
) -> ChangePage:
    """The newest changes that fit, from those before `before` on.

    It ends early after `LOOK` changes that were looked at. Of one schedule, the last page ends
    with its creation, also when that has no row of its own.
    """
    statement = (_LOOK_OF_TENANT if wanted.schedule_id is None else _LOOK_OF_SCHEDULE) + _FITTING
    rows = await tx.fetch(
        statement,
        tenant_id,
        _LAST if before is None else before,
        LOOK,
        wanted.action,
        wanted.actor,
        wanted.since,
        wanted.schedule_id,
        limit + 1,
    )
    found = [of_row(row) for row in rows if row["id"] is not None]
    changes, next_id = found[:limit], None
    if len(found) > limit:
        next_id = changes[-1].id
    elif rows[0]["seen"] == LOOK:
        next_id = rows[0]["last"]
    elif wanted.schedule_id is not None:
        changes += await _creation(tx, tenant_id, wanted.schedule_id, wanted)
    return ChangePage(await _named(tx, tenant_id, changes), next_id)


async def _creation(
    tx: Tx,
    tenant_id: UUID,
    schedule_id: UUID,
    wanted: Filter,
) -> list[Change]:
    """The creation of a schedule that has no row for it; nothing when it has one."""
    has_row = await tx.fetch_value(_HAS_CREATED, tenant_id, schedule_id)
    row = None if has_row else await tx.fetch_row(_CREATION, tenant_id, schedule_id)
    if row is None:
        return []
    made = Change(
        id=None,
        schedule_id=schedule_id,
        at=row["created_at"],
        action="created",
        actor=row["created_by"],
        status=None,
        version=1,
        fields={},
        details={},
    )
    return [made] if wanted.fits(made) else []


async def _named(tx: Tx, tenant_id: UUID, changes: Sequence[Change]) -> list[Listed]:
    of = list({each.schedule_id for each in changes if each.schedule_id is not None})
    rows = await tx.fetch(_NAMES, tenant_id, of) if of else []
    names = {row["id"]: (row["key"], row["name"]) for row in rows}
    nobody = (None, None)
    return [
        Listed(each, *(names.get(each.schedule_id, nobody) if each.schedule_id else nobody))
        for each in changes
    ]


# Those that were deleted last come first.
_FIND_DELETED: LiteralString = """
    (SELECT schedule_id, id FROM audit
      WHERE tenant_id = $1 AND action = 'deleted' AND was -> 'definition' ->> 'key' = $2
      ORDER BY id DESC LIMIT 1)
     UNION ALL
    (SELECT schedule_id, id FROM audit
      WHERE tenant_id = $1 AND action = 'deleted' AND was -> 'definition' ->> 'name' = $2
      ORDER BY id DESC LIMIT 1)
     LIMIT 1
"""


async def find_deleted(tx: Tx, tenant_id: UUID, named: str) -> UUID | None:
    """The last schedule of this key, or else of this name, that was deleted."""
    return await tx.fetch_value(_FIND_DELETED, tenant_id, named)


_FORGET: LiteralString = """
    DELETE FROM audit
     WHERE (tenant_id, id) IN (SELECT tenant_id, id FROM audit WHERE at < $1 LIMIT $2)
"""


async def forget(tx: Tx, before: datetime, *, limit: int) -> int:
    """Delete some of what is older; returns the count."""
    return await tx.execute(_FORGET, before, limit)


def of_row(row: Row) -> Change:
    """The change that a row of `audit` is."""
    stored: dict[str, Any] = msgspec.json.decode(row["changes"] or "{}")
    changed: dict[str, Any] = stored.pop("fields", {})
    return Change(
        id=row["id"],
        schedule_id=row["schedule_id"],
        at=row["at"],
        action=row["action"],
        actor=row["actor"],
        status=row["status"],
        version=row["version"],
        fields=changed,
        details=stored,
    )
