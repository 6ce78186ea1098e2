"""The one transaction: timers advance and their firings enter the queue together, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rota import ids
from rota.firing import sql
from rota.firing.overlap import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from rota.db import FencedTx
    from rota.firing.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """What came of some plans."""

    moved: frozenset[UUID] = frozenset()
    """The schedules whose timers were as expected; of the others nothing was written."""
    completed: int = 0
    fired: int = 0
    caught_up: int = 0
    """Those of the fired that are catch-ups."""
    skipped: int = 0
    missed: int = 0
    cancelled: int = 0


async def fire(tx: FencedTx, plans: Sequence[Plan]) -> Fired:
    """Carry the plans out; at most one for each schedule, all in shards whose fence is proven."""
    instead = [p.due.schedule_id for p in plans if p.entry is Entry.INSTEAD]
    if instead:
        # A claim in between would be neither deleted as unclaimed nor told to stop as claimed.
        await sql.lock_live(tx, instead)
    row = await tx.fetch_row(sql.FIRE, *_columns(tx, plans))
    assert row is not None
    return Fired(
        moved=frozenset(row["moved"]),
        completed=row["completed"],
        fired=row["fired"],
        caught_up=row["caught_up"],
        skipped=row["skipped"],
        missed=row["missed"],
        cancelled=row["cancelled"],
    )


def _columns(tx: FencedTx, plans: Sequence[Plan]) -> Iterable[list[object]]:
    """The statement's parameters: timers, further slots, records, each a list per column."""
    firsts = iter(ids.firing_ids((p.due.schedule_id, p.fire[0]) for p in plans if p.fire))
    timers = [_timer(p, tx.fences[p.due.shard], next(firsts) if p.fire else None) for p in plans]
    more = [row for p in plans if len(p.fire) > 1 for row in _further_slots(p)]
    records = [row for p in plans if p.records for row in _records(p)]
    return chain(_turned(timers, 20), _turned(more, 4), _turned(records, 7))


def _timer(plan: Plan, fence: int, first_id: UUID | None) -> tuple[object, ...]:
    due, contract = plan.due, plan.contract
    first = plan.fire[0] if plan.fire else None
    return (
        due.schedule_id,
        due.scheduled_for,
        due.version,
        due.touched,
        contract.overlap == "allow",
        due.live > 0,
        plan.following,
        plan.following_due_at,
        len(plan.fire),
        contract.tenant_id,
        fence,
        contract.priority,
        plan.catch_up,
        plan.entry.value,
        plan.chained,
        contract.lane,
        contract.host,
        first_id,
        first,
        None if first is None else first + (due.due_at - due.scheduled_for),
    )


def _further_slots(plan: Plan) -> list[tuple[object, ...]]:
    schedule_id, spread = plan.due.schedule_id, plan.due.due_at - plan.due.scheduled_for
    return [
        (schedule_id, ids.firing_id(schedule_id, slot), slot, slot + spread)
        for slot in plan.fire[1:]
    ]


def _records(plan: Plan) -> list[tuple[object, ...]]:
    schedule_id = plan.due.schedule_id
    return [
        (
            schedule_id,
            ids.firing_id(schedule_id, record.first),
            record.first,
            record.last if record.count > 1 else None,
            record.count,
            record.status,
            record.reason,
        )
        for record in plan.records
    ]


def _turned(rows: list[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as columns."""
    if not rows:
        return [[] for _ in range(width)]
    return [list(column) for column in zip(*rows, strict=True)]
