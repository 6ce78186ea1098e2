"""The queue of a task that was named without one: where the tenant's program has registered it.

A program registers its tasks when it starts. A schedule that names one of them and no queue is
placed in that queue when it is created or edited; one that was there before the program started is
adopted by it. Until then it waits in `default`, where pull workers look. In a stored definition a
queue that is not there was not given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

import msgspec

from rota import timers
from rota.queue import reversion, saga
from rota.schedules import audit
from rota.schedules import definition as definitions
from rota.schedules.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.steps import Step

BATCH: Final = 500
"""Adopted in one transaction."""

_FIND: LiteralString = """
    SELECT task, queue FROM task_queues WHERE tenant_id = $1 AND task = ANY ($2::text[])
"""

# In order, so that two programs that register for the same tenant do not wait for each other.
_REGISTER: LiteralString = """
    INSERT INTO task_queues AS t (tenant_id, task, queue, program)
    SELECT $1, x.task, x.queue, $2
      FROM unnest($3::text[], $4::text[]) AS x(task, queue)
     ORDER BY x.task
        ON CONFLICT (tenant_id, task) DO UPDATE
       SET queue = excluded.queue, program = excluded.program
     WHERE (t.queue, t.program) IS DISTINCT FROM (excluded.queue, excluded.program)
"""

# By the partial indexes of migration 0023: what has found its queue costs nothing.
_WITHOUT_QUEUE: LiteralString = """
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.job_type = ANY ($2::text[]) AND NOT s.definition ? 'queue'
     UNION ALL
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.definition ? 'steps'
       AND EXISTS (
           SELECT
             FROM jsonb_array_elements(s.definition -> 'steps') AS step
            CROSS JOIN LATERAL (VALUES (step), (step -> 'compensate')) AS c(call)
            WHERE c.call ->> 'job_type' = ANY ($2::text[]) AND NOT c.call ? 'queue')
     LIMIT $3
"""

_LOCK: LiteralString = """
    SELECT id, version, definition::text AS definition
      FROM schedules
     WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
     ORDER BY id
       FOR NO KEY UPDATE
"""

_PLACE: LiteralString = """
    UPDATE schedules s
       SET definition = x.definition, version = x.version, updated_at = clock_timestamp(),
           updated_by = $4
      FROM unnest($1::uuid[], $2::jsonb[], $3::integer[]) AS x(id, definition, version)
     WHERE s.id = x.id
"""

_PLACE_FOLLOWERS: LiteralString = """
    UPDATE followers f
       SET lane = x.lane
      FROM unnest($1::uuid[], $2::text[]) AS x(id, lane)
     WHERE f.schedule_id = x.id
"""


def unplaced(definition: Definition) -> frozenset[str]:
    """The tasks that it names without a queue."""
    if definition.job_type is None and definition.steps is None:
        return frozenset()
    return frozenset(
        each.job_type
        for each in (definition, *_calls(definition))
        if each.job_type is not None and each.queue is None
    )


def placed(definition: Definition, queues: Mapping[str, str]) -> Definition:
    """The same with a queue for each of these tasks that it names without one."""
    if not unplaced(definition) & queues.keys():
        return definition
    steps = definition.steps
    return msgspec.structs.replace(
        definition,
        queue=_queue(definition, queues),
        steps=None if steps is None else tuple(_placed_step(each, queues) for each in steps),
    )


def _calls(definition: Definition) -> Iterator[Step]:
    for step in definition.steps or ():
        yield step
        if step.compensate is not None:
            yield step.compensate


def _placed_step(step: Step, queues: Mapping[str, str]) -> Step:
    undo = step.compensate
    return msgspec.structs.replace(
        step,
        queue=_queue(step, queues),
        compensate=None if undo is None else _placed_step(undo, queues),
    )


def _queue(call: Definition | Step, queues: Mapping[str, str]) -> str | None:
    if call.queue is not None or call.job_type is None:
        return call.queue
    return queues.get(call.job_type)


async def find(tx: Tx, tenant_id: UUID, tasks: Collection[str]) -> dict[str, str]:
    """The queues of those of these tasks that a program of the tenant has registered."""
    if not tasks:
        return {}
    rows = await tx.fetch(_FIND, tenant_id, list(tasks))
    return {row["task"]: row["queue"] for row in rows}


async def place(tx: Tx, tenant_id: UUID, definition: Definition) -> Definition:
    """The same with the queues in which the tenant's programs have registered its tasks."""
    return placed(definition, await find(tx, tenant_id, unplaced(definition)))


async def register(tx: Tx, tenant_id: UUID, program: str, queues: Mapping[str, str]) -> None:
    """Note in which queue a program of the tenant has each of its tasks."""
    if queues:
        await tx.execute(_REGISTER, tenant_id, program, list(queues), list(queues.values()))


async def adopt(tx: Tx, tenant_id: UUID, queues: Mapping[str, str]) -> int:
    """Place schedules that name one of these tasks and no queue, with what they have waiting.

    Returns the count, at most `BATCH`: call it again until it is less.
    """
    if not queues:
        return 0
    rows = await tx.fetch(_WITHOUT_QUEUE, tenant_id, list(queues), BATCH)
    found = sorted({row["id"] for row in rows})
    if not found:
        return 0
    # Timers, schedules, queue: the order in which firing and every change lock them.
    await timers.lock(tx, found)
    locked = [_adopt(row, queues) for row in await tx.fetch(_LOCK, tenant_id, found)]
    # Those that were edited while they were waited for may have a queue by now.
    adopted = [each for each in locked if each.after is not each.before]
    ids, versions = [each.id for each in adopted], [each.version for each in adopted]
    stored = [definitions.encode(each.after) for each in adopted]
    changes = [audit.edit(each.before, each.after) for each in adopted]
    await audit.record(tx, "edited", ids, changes=changes)
    await tx.execute(_PLACE, ids, stored, versions, tx.actor)
    await timers.reversion(tx, dict(zip(ids, versions, strict=True)))
    await tx.execute(_PLACE_FOLLOWERS, ids, [each.after.lane for each in adopted])
    await _adopt_live(tx, {each.id: each for each in adopted}, queues)
    return len(found)


@dataclass(frozen=True, slots=True)
class _Adopted:
    """A schedule that gets its queue."""

    id: UUID
    version: int
    """The one it gets."""
    before: Definition
    after: Definition


def _adopt(row: Row, queues: Mapping[str, str]) -> _Adopted:
    before = definitions.decode(row["definition"])
    return _Adopted(row["id"], row["version"] + 1, before, placed(before, queues))


async def _adopt_live(tx: Tx, adopted: Mapping[UUID, _Adopted], queues: Mapping[str, str]) -> None:
    live = await reversion.lock_live(tx, list(adopted))
    moves = [_moved(row, adopted[row["schedule_id"]], queues) for row in live]
    await reversion.move(tx, moves)


def _moved(row: Row, schedule: _Adopted, queues: Mapping[str, str]) -> reversion.Move:
    version = schedule.version if row["version"] == schedule.version - 1 else row["version"]
    if row["saga"] is not None:
        state, lane = _moved_state(row["saga"], queues)
        return row["id"], lane, version, state
    here = row["lane"] == schedule.before.lane
    return row["id"], schedule.after.lane if here else row["lane"], version, None


def _moved_state(stored: str, queues: Mapping[str, str]) -> tuple[str, str]:
    """Of one that is past its first step: it goes on as it began, but in its program's queue."""
    state = msgspec.json.decode(stored, type=saga.State)
    whole: dict[str, Any] = msgspec.json.decode(stored)
    definition = placed(msgspec.convert(whole["definition"], Definition), queues)
    step = (definition.steps or ())[state.at]
    call = step.compensate if state.back and step.compensate is not None else step
    whole["definition"] = msgspec.Raw(definitions.encode(definition).encode())
    return msgspec.json.encode(whole).decode(), definition.of_step(call).lane
