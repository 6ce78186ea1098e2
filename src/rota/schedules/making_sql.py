"""The statement that makes schedules and their timers: the function is in migration 0021."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString

from rota import timers
from rota.schedules.draft import AT_ONCE
from rota.schedules.schedule import shard_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.draft import Draft

FEW: Final = 200
"""What these are found by is written with them; of more, a little later: it takes longer than all
the rest (docs/decisions/search.md)."""

# Columns of anything but text are one text each: the driver looks at every value of an array to see
# whether it is another array, which takes longer than all the rest of it.
_MAKE: LiteralString = """
    SELECT make_schedules($1, $2, $3, $4::text::uuid[], $5, $6, $7::text::smallint[],
                          $8::text::boolean[], $9, $10::text::integer[], $11, $12, $13, $14, $15)
"""


async def make(
    tx: Tx,
    tenant_id: UUID,
    ids: Sequence[UUID],
    drafts: Sequence[Draft],
    *,
    shards: int,
    anchor_at: datetime,
    at: datetime,
    with_words: bool,
    put_off: tuple[UUID, UUID] | None = None,
) -> set[UUID]:
    """Store and arm those whose key is free; the ids of the others.

    Without their words, the first and the last id of all whose words follow later are `put_off`,
    once for all of them.

    Wakes, when the transaction commits, whoever holds a shard that has one due soon.
    """
    # Of thousands of schedules most share few instants, and an instant takes long to write.
    numbers: dict[datetime | None, str] = {None: "NULL"}
    slots: list[datetime] = []
    for each in drafts:
        if each.slot is not None and each.slot not in numbers:
            slots.append(each.slot)
            numbers[each.slot] = str(len(slots))
    rows = await tx.fetch(
        _MAKE,
        tenant_id,
        anchor_at,
        at,
        _column([f"{id_.int:032x}" for id_ in ids]),
        [each.definition for each in drafts],
        [each.tags for each in drafts],
        _column([str(shard_of(id_, shards)) for id_ in ids]),
        _column(["t" if each.paused else "f" for each in drafts]),
        slots,
        _column([numbers[each.slot] for each in drafts]),
        _due(ids, drafts),
        _calendar_versions(drafts),
        with_words,
        put_off,
        timers.SOON,
    )
    return {row[0] for row in rows}


def _column(values: list[str]) -> str:
    """As PostgreSQL writes an array of what needs no quotes."""
    return "{" + ",".join(values) + "}"


def _due(ids: Sequence[UUID], drafts: Sequence[Draft]) -> list[datetime | None] | None:
    """When each is due; None when each is due at its slot."""
    if all(each.window == AT_ONCE for each in drafts):
        return None
    return [
        None if each.slot is None else each.slot + timers.offset(id_, each.window)
        for id_, each in zip(ids, drafts, strict=True)
    ]


def _calendar_versions(drafts: Sequence[Draft]) -> list[int | None] | None:
    """Of each, the version of its calendar's days; None when none has a calendar."""
    known = [each.parsed and each.parsed.calendar for each in drafts]
    return [each and each.version for each in known] if any(known) else None
