"""Making schedules follow others: refused where it would be a circle, stored, and warned about.

A schedule may follow a key that nobody has yet, or that somebody gives up later: it waits, and its
warnings say so. A circle is refused when the one comes that would close it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.schedules import after_chain, after_sql
from rota.schedules.after import MAX_DEPTH
from rota.schedules.errors import InvalidSchedule, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule


async def refused(
    tx: Tx, tenant_id: UUID, definitions: Sequence[Definition], *, replacing: bool = False
) -> dict[str, InvalidSchedule]:
    """By key, those that must not be stored; in their order, as each may follow one before it.

    `replacing` says that those that are there already will be what is given: otherwise they stay.
    Nobody of the tenant makes another such schedule until the transaction ends.
    """
    wanted = {each.key: each.after.key for each in definitions if each.after is not None}
    if not wanted:
        return {}
    await after_sql.lock(tx, tenant_id)
    known = await _around(tx, tenant_id, wanted)
    problems: dict[str, InvalidSchedule] = {}
    for key, upstream in wanted.items():
        wrong = after_chain.wrong_with(key, upstream, known)
        if wrong is not None:
            problems[key] = InvalidSchedule((Problem("after", f"Invalid after: {wrong}"),))
        elif replacing or key not in known:
            known[key] = upstream
    return problems


async def _around(tx: Tx, tenant_id: UUID, wanted: dict[str, str]) -> dict[str, str]:
    """All that is known of the chains that these belong to, as far as their length matters."""
    known: dict[str, str] = {}
    keys = {*wanted, *wanted.values()}
    for _ in range(MAX_DEPTH + 1):
        if not keys:
            break
        found = await after_sql.above(tx, tenant_id, keys)
        known |= found
        keys = {upstream for upstream in found.values() if upstream not in known}
    # Not what else follows the same ones: it may be thousands, and lengthens nothing.
    keys = set(wanted)
    for _ in range(MAX_DEPTH + 1):
        if not keys:
            break
        found = await after_sql.below(tx, tenant_id, keys)
        keys = found.keys() - known.keys()
        known |= found
    return known


async def store(
    tx: Tx, tenant_id: UUID, schedules: Sequence[Schedule]
) -> dict[UUID, tuple[str, ...]]:
    """Write down whom these follow; for each that follows nobody yet, what to say about it."""
    upstreams = {each.id: each.definition.after.key for each in schedules if each.definition.after}
    if not upstreams:
        return {}
    await after_sql.link(tx, tenant_id, schedules)
    there = await after_sql.there(tx, tenant_id, set(upstreams.values()))
    return {id_: (missing(key),) for id_, key in upstreams.items() if key not in there}


async def change(tx: Tx, before: Schedule, schedule: Schedule) -> None:
    """The same for one that is being changed; `InvalidSchedule` where that would be a circle."""
    old, new = before.definition.after, schedule.definition.after
    if new is None:
        if old is not None:
            await after_sql.unlink(tx, schedule.id)
        return
    problems = await refused(tx, schedule.tenant_id, [schedule.definition], replacing=True)
    if problems:
        raise problems[schedule.key]
    await after_sql.link(tx, schedule.tenant_id, [schedule])


async def warnings(tx: Tx, schedule: Schedule) -> list[str]:
    """What there is to say of a schedule whose other is not there."""
    after = schedule.definition.after
    if after is None or await after_sql.there(tx, schedule.tenant_id, [after.key]):
        return []
    return [missing(after.key)]


def missing(key: str) -> str:
    return (
        f"There is no schedule with the key {key} now: this one fires once there is, "
        "and a firing of it ends."
    )
