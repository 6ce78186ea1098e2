"""Dependents: firings that follow the end of another, entered in the transaction that records it.

A schedule with `after` has one firing for each end that it waits for: the id is made of the
schedule and of the firing that ended, so that however often an end is recorded, one follows. Its
slot is that of the firing it follows. A dependent is subject to its schedule's own overlap policy;
of a paused schedule it is recorded as skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

import msgspec

from rota import ids
from rota.queue import overlap, result_handoff
from rota.queue.enqueue import NewFiring, enter
from rota.queue.overlap import Admission, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.queue.overlap import State

FOLLOWED_STATUSES: Final = frozenset({"succeeded", "dead"})
"""The ends that can be followed. What was skipped, missed or cancelled has not run to its end."""

NAME: Final = "after"
"""The member of a dependent's payload that tells of the firing it follows."""

# Part of a statement that ends the rows `ended`: those that have dependents. Free for tenants
# without any: followers are looked for once for each tenant, and further only where it has some.
FOLLOWED: LiteralString = """
    followed AS (
        SELECT e.id
          FROM ended e
         WHERE e.status IN ('succeeded', 'dead')
           AND e.tenant_id = ANY (ARRAY(
               SELECT t.tenant_id
                 FROM (SELECT DISTINCT ended.tenant_id FROM ended) AS t
                WHERE (SELECT true FROM followers f WHERE f.tenant_id = t.tenant_id LIMIT 1)))
           AND (SELECT true
                  FROM schedules s
                  JOIN followers f ON f.tenant_id = s.tenant_id AND f.upstream_key = s.key
                 WHERE s.id = e.schedule_id
                 LIMIT 1)
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A firing that has ended, as succeeded or dead."""

    id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: str
    reason: str | None = None
    result: bytes | None = None


# Who follows which of these ends, found by the ended schedules' keys.
_FIND: LiteralString = """
    SELECT x.id, u.key, f.schedule_id
      FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS x(id, schedule_id, status)
      JOIN schedules u ON u.id = x.schedule_id
      JOIN followers f ON f.tenant_id = u.tenant_id AND f.upstream_key = u.key
     WHERE f.on_end = 'finished'
        OR f.on_end = CASE x.status WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END
     ORDER BY f.schedule_id, x.id
"""

# As every change and every run does: none gets another firing in the meantime, and none is changed.
_LOCK: LiteralString = """
    SELECT id FROM schedules WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
"""

# As they are once they are locked: a statement sees what was committed when it began, and this one
# begins after the locks.
_READ: LiteralString = """
    SELECT s.id, s.tenant_id, s.version, s.status, f.upstream_key, f.lane, f.host,
           coalesce((s.definition ->> 'priority')::smallint, 5) AS priority,
           coalesce(s.definition ->> 'overlap_policy', 'skip') AS policy,
           s.definition -> 'payload' AS payload, s.definition ? 'body' AS has_body
      FROM schedules s
      JOIN followers f ON f.schedule_id = s.id
     WHERE s.id = ANY ($1::uuid[])
"""


async def follow(tx: Tx, ends: Sequence[End]) -> int:
    """Enter what follows these ends. Returns how many wait for a worker now."""
    pairs = await tx.fetch(
        _FIND,
        [each.id for each in ends],
        [each.schedule_id for each in ends],
        [each.status for each in ends],
    )
    if not pairs:
        return 0
    wanted = sorted({pair["schedule_id"] for pair in pairs})
    await tx.fetch(_LOCK, wanted)
    standing = {row["id"]: row for row in await tx.fetch(_READ, wanted)}
    admissions = await _admit(tx, list(standing.values()))
    by_id = {each.id: each for each in ends}
    entering: list[NewFiring] = []
    for pair in pairs:
        row = standing.get(pair["schedule_id"])
        # Changed, at this very moment, to follow something else.
        if row is None or row["upstream_key"] != pair["key"]:
            continue
        admission = admissions.get(row["id"])
        state, reason = ("skipped", "paused") if admission is None else admission.next()
        entering.append(_entering(row, by_id[pair["id"]], state, reason))
    await enter(tx, entering)
    return sum(each.state == "waiting" for each in entering)


async def _admit(tx: Tx, rows: Sequence[Row]) -> dict[UUID, Admission]:
    """How firings of each active one enter, with what is live ended where the policy says so.

    Their rows are not waited for: ends of a chain are recorded by several workers at once, and each
    of them has rows already.
    """
    active = [row for row in rows if row["status"] == "active"]
    bound = [row["id"] for row in active if row["policy"] != "allow"]
    snapshot = await overlap.read_live(tx, bound) if bound else Snapshot()
    admissions = {row["id"]: Admission(row["policy"], snapshot.of(row["id"])) for row in active}
    await overlap.make_room(tx, snapshot, admissions)
    return admissions


def _entering(row: Row, end: End, state: State, reason: str | None) -> NewFiring:
    return NewFiring(
        id=ids.following_id(row["id"], end.id, end.scheduled_for),
        schedule_id=row["id"],
        tenant_id=row["tenant_id"],
        version=row["version"],
        # One instant names the whole chain.
        scheduled_for=end.scheduled_for,
        state=state,
        reason=reason,
        priority=row["priority"],
        lane=row["lane"],
        host=row["host"],
        triggered_by="after",
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
        "reason": result_handoff.result(end.reason.encode()) if end.reason else None,
        "result": result_handoff.result(end.result),
    }
    own = None if row["payload"] is None else msgspec.json.decode(row["payload"])
    return msgspec.json.encode(result_handoff.joined(own, NAME, said)).decode()


MAX_UPSTREAMS: Final = 10_000

# All that follow these schedules, whatever ends they wait for.
_LOCK_DEPENDENTS: LiteralString = """
    SELECT id
      FROM schedules
     WHERE id = ANY (ARRAY(
           SELECT f.schedule_id
             FROM schedules u
             JOIN followers f ON f.tenant_id = u.tenant_id AND f.upstream_key = u.key
            WHERE u.id = ANY ($1::uuid[])))
     ORDER BY id
       FOR NO KEY UPDATE
"""


class Upstreams:
    """Remembers which schedules have dependents, so that those are locked before the rows that end.

    Schedules are locked before their rows of the queue (`db.locks`). An end that had locked its
    rows and then its dependents' schedules could deadlock with a change that has those and wants
    the rows. Nearly no schedule has dependents, and looking each time would cost every end a
    statement. So the first end of each is locked in the other order: at worst PostgreSQL ends one
    of the two transactions, and it is retried.
    """

    def __init__(self) -> None:
        self._ids: set[UUID] = set()

    def add(self, schedule_ids: Iterable[UUID]) -> None:
        """These have dependents."""
        if len(self._ids) >= MAX_UPSTREAMS:
            self._ids.clear()
        self._ids.update(schedule_ids)

    async def lock_dependents(self, tx: Tx, schedule_ids: Iterable[UUID]) -> None:
        """Lock the dependents of these schedules; to be called before their rows are locked."""
        if not self._ids:
            return
        known = self._ids.intersection(schedule_ids)
        if known and not await tx.fetch(_LOCK_DEPENDENTS, sorted(known)):
            self._ids -= known
