"""The statements on who follows whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.db import locks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule

# One at a time for each tenant, until the end of the transaction: two who closed a circle together
# would each not see the other's half.
_LOCK: LiteralString = (
    "SELECT pg_advisory_xact_lock(" + locks.FOLLOWERS + ", hashtext($1::uuid::text))"
)

_ABOVE: LiteralString = """
    SELECT key, upstream_key FROM followers WHERE tenant_id = $1 AND key = ANY ($2::text[])
"""

_BELOW: LiteralString = """
    SELECT key, upstream_key FROM followers WHERE tenant_id = $1 AND upstream_key = ANY ($2::text[])
"""

_FOLLOWING: LiteralString = """
    SELECT schedule_id FROM followers WHERE tenant_id = $1 AND upstream_key = $2
     ORDER BY key LIMIT $3
"""

_LINK: LiteralString = """
    INSERT INTO followers (schedule_id, tenant_id, key, upstream_key, on_end, lane, host)
    SELECT x.schedule_id, $1, x.key, x.upstream_key, x.on_end, x.lane, x.host
      FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
           AS x(schedule_id, key, upstream_key, on_end, lane, host)
        ON CONFLICT (schedule_id) DO UPDATE
       SET upstream_key = excluded.upstream_key, on_end = excluded.on_end,
           lane = excluded.lane, host = excluded.host
"""

_UNLINK: LiteralString = "DELETE FROM followers WHERE schedule_id = $1"

_THERE: LiteralString = """
    SELECT key FROM schedules WHERE tenant_id = $1 AND key = ANY ($2::text[])
"""


async def lock(tx: Tx, tenant_id: UUID) -> None:
    """Nobody else of the tenant makes a schedule follow another before the transaction ends."""
    await tx.fetch(_LOCK, tenant_id)


async def above(tx: Tx, tenant_id: UUID, keys: Collection[str]) -> dict[str, str]:
    """Whom these keys follow, those that follow one."""
    rows = await tx.fetch(_ABOVE, tenant_id, list(keys))
    return {row["key"]: row["upstream_key"] for row in rows}


async def below(tx: Tx, tenant_id: UUID, keys: Collection[str]) -> dict[str, str]:
    """Who follows these keys, each with the one it follows."""
    rows = await tx.fetch(_BELOW, tenant_id, list(keys))
    return {row["key"]: row["upstream_key"] for row in rows}


async def following(tx: Tx, tenant_id: UUID, key: str, *, limit: int) -> list[UUID]:
    """Some of the schedules that follow this key, by their keys."""
    rows = await tx.fetch(_FOLLOWING, tenant_id, key, limit)
    return [row["schedule_id"] for row in rows]


async def link(tx: Tx, tenant_id: UUID, schedules: Sequence[Schedule]) -> None:
    """Let these follow whom their definitions name."""
    made = [(each, each.definition, each.definition.after) for each in schedules]
    followers = [(each, definition, after) for each, definition, after in made if after]
    if followers:
        await tx.execute(
            _LINK,
            tenant_id,
            [each.id for each, _, _ in followers],
            [each.key for each, _, _ in followers],
            [after.key for _, _, after in followers],
            [after.on for _, _, after in followers],
            [definition.lane for _, definition, _ in followers],
            [definition.host for _, definition, _ in followers],
        )


async def unlink(tx: Tx, schedule_id: UUID) -> None:
    await tx.execute(_UNLINK, schedule_id)


async def there(tx: Tx, tenant_id: UUID, keys: Collection[str]) -> set[str]:
    """Which of these keys are those of schedules."""
    return {row["key"] for row in await tx.fetch(_THERE, tenant_id, list(keys))}
