"""Firing what follows the end of a firing, in the transaction that records the end.

A schedule with `after` has one firing for each end that it waits for: the id is made of the
schedule and of the firing that ended, so that however often an end is recorded, one follows. Its
slot is that of the firing it follows. What follows is subject to its schedule's own overlap policy;
of a paused schedule it is recorded as skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rota import ids
from rota.queue import carried
from rota.queue import follow_sql as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx

Entry = Literal["waiting", "blocked", "skipped"]

FOLLOWED = frozenset({"succeeded", "dead"})
"""The ends that can be followed. What was skipped, missed or cancelled has not run to its end."""

NAME = "after"
"""Under which name the payload of what follows tells of what it follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A firing that has ended, as succeeded or dead."""

    id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: str
    reason: str | None = None
    result: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Following:
    """One that follows, and how it enters the queue."""

    id: UUID
    row: Row
    """Its schedule."""
    end: End
    entry: Entry
    reason: str | None
    payload: str | None


async def follow(tx: Tx, ends: Sequence[End]) -> int:
    """Enter what follows these ends; how many wait for a worker now."""
    pairs = await tx.fetch(
        sql.FOUND,
        [each.id for each in ends],
        [each.schedule_id for each in ends],
        [each.status for each in ends],
    )
    if not pairs:
        return 0
    wanted = sorted({pair["schedule_id"] for pair in pairs})
    await tx.fetch(sql.LOCK, wanted)
    standing = {row["id"]: row for row in await tx.fetch(sql.STANDING, wanted)}
    entries = await _entries(tx, list(standing.values()))
    by_id = {each.id: each for each in ends}
    following: list[_Following] = []
    for pair in pairs:
        row = standing.get(pair["schedule_id"])
        # Changed, at this very moment, to follow something else.
        if row is None or row["upstream_key"] != pair["key"]:
            continue
        entry = entries[row["id"]]
        following.append(_made(row, by_id[pair["id"]], *entry))
        entries[row["id"]] = _next(row["policy"], entry)
    await _enter(tx, [each for each in following if each.entry != "skipped"])
    await _skip(tx, [each for each in following if each.entry == "skipped"])
    return sum(each.entry == "waiting" for each in following)


async def _entries(tx: Tx, rows: Sequence[Row]) -> dict[UUID, tuple[Entry, str | None]]:
    """How the first of each enters, with what is live ended where the policy says so."""
    ousting = [row["id"] for row in rows if _ousts(row)]
    asked = set[Any]()
    if ousting:
        asked = {row["schedule_id"] for row in await tx.fetch(sql.OUST, ousting)}
    return {row["id"]: entry(row, still_running=row["id"] in asked) for row in rows}


def _ousts(row: Row) -> bool:
    return row["status"] == "active" and row["is_live"] and row["policy"] == "cancel_previous"


def entry(row: Row | Mapping[str, Any], *, still_running: bool) -> tuple[Entry, str | None]:
    """How it enters the queue, or why it does not."""
    if row["status"] != "active":
        return "skipped", "paused"
    if not row["is_live"] or row["policy"] == "allow":
        return "waiting", None
    match row["policy"]:
        case "skip":
            return "skipped", "overlap"
        case "cancel_previous":
            return ("blocked" if still_running else "waiting"), None
        case _:
            return "blocked", None


def _next(policy: str, before: tuple[Entry, str | None]) -> tuple[Entry, str | None]:
    """How another one enters right behind it: several ends may be recorded at once."""
    if before[0] == "skipped" or policy == "allow":
        return before
    return ("skipped", "overlap") if policy == "skip" else ("blocked", None)


def _made(row: Row, end: End, entry: Entry, reason: str | None) -> _Following:
    return _Following(
        id=ids.following_id(row["id"], end.id, end.scheduled_for),
        row=row,
        end=end,
        entry=entry,
        reason=reason,
        payload=payload_after(row, end),
    )


def payload_after(row: Row | Mapping[str, Any], end: End) -> str | None:
    """The schedule's payload, and what it follows; None leaves a body of text as it is."""
    if row["has_body"]:
        return None
    said = {
        "key": row["upstream_key"],
        "firing_id": ids.to_text(ids.Kind.FIRING, end.id),
        "status": end.status,
        "reason": carried.result(end.reason.encode()) if end.reason else None,
        "result": carried.result(end.result),
    }
    own = None if row["payload"] is None else msgspec.json.decode(row["payload"])
    return msgspec.json.encode(carried.joined(own, NAME, said)).decode()


async def _enter(tx: Tx, following: Sequence[_Following]) -> None:
    if following:
        await tx.fetch(
            sql.ENTER,
            *_common(following),
            [each.row["priority"] for each in following],
            [each.entry for each in following],
            [each.row["lane"] for each in following],
            [each.row["host"] for each in following],
            [each.payload for each in following],
        )


async def _skip(tx: Tx, following: Sequence[_Following]) -> None:
    if following:
        await tx.execute(
            sql.SKIP,
            *_common(following),
            [each.reason for each in following],
            [each.payload for each in following],
        )


def _common(following: Sequence[_Following]) -> tuple[list[object], ...]:
    return (
        [each.id for each in following],
        [each.row["id"] for each in following],
        [each.row["tenant_id"] for each in following],
        [each.row["version"] for each in following],
        [each.end.scheduled_for for each in following],
    )
