"""How much of each tenant's requests and responses was kept in a day. Owns `capture_usage`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import date
    from uuid import UUID

    from rota.db import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A tenant's day: what was kept, what was cut, and the tenant's own budget if it has one."""

    tenant_id: UUID
    day: date
    bytes: int
    cut: int
    budget_mb: int | None


# In the order of the key: two workers that count at the same time wait for each other, and never
# both at once. A tenant that was deleted in the meantime is left out.
_ADD: LiteralString = """
    WITH x AS (
        SELECT x.*, t.capture_budget_mb AS budget_mb
          FROM unnest($1::date[], $2::uuid[], $3::bigint[], $4::bigint[])
               AS x(day, tenant_id, bytes, cut)
          JOIN tenants t ON t.id = x.tenant_id
    ), added AS (
        INSERT INTO capture_usage AS u (day, tenant_id, bytes, cut)
        SELECT day, tenant_id, bytes, cut FROM x ORDER BY day, tenant_id
            ON CONFLICT (day, tenant_id) DO UPDATE
           SET bytes = u.bytes + excluded.bytes, cut = u.cut + excluded.cut
     RETURNING u.day, u.tenant_id, u.bytes, u.cut
    )
    SELECT a.day, a.tenant_id, a.bytes, a.cut, x.budget_mb
      FROM added a
      JOIN x ON x.day = a.day AND x.tenant_id = a.tenant_id
"""

_READ: LiteralString = """
    SELECT x.day, x.tenant_id, coalesce(u.bytes, 0) AS bytes, coalesce(u.cut, 0) AS cut,
           t.capture_budget_mb AS budget_mb
      FROM unnest($1::date[], $2::uuid[]) AS x(day, tenant_id)
      JOIN tenants t ON t.id = x.tenant_id
      LEFT JOIN capture_usage u ON u.day = x.day AND u.tenant_id = x.tenant_id
"""

_CUT_TODAY: LiteralString = """
    SELECT u.day, u.tenant_id, u.bytes, u.cut, t.capture_budget_mb AS budget_mb
      FROM capture_usage u
      JOIN tenants t ON t.id = u.tenant_id
     WHERE u.day = (statement_timestamp() AT TIME ZONE 'UTC')::date AND u.cut > 0
     ORDER BY u.tenant_id
     LIMIT $1
"""

_FORGET: LiteralString = """
    DELETE FROM capture_usage
     WHERE day < (statement_timestamp() AT TIME ZONE 'UTC')::date - 7
"""


async def add(tx: Tx, counted: Iterable[tuple[date, UUID, int, int]]) -> list[Usage]:
    """Add bytes and cut attempts to the tenants' days; the sums over all workers."""
    columns = list(zip(*counted, strict=True))
    return [Usage(**dict(row.items())) for row in await tx.fetch(_ADD, *map(list, columns))]


async def read(tx: Tx, wanted: Collection[tuple[date, UUID]]) -> list[Usage]:
    """What there is of these tenants' days so far."""
    days, tenants = [day for day, _ in wanted], [tenant for _, tenant in wanted]
    return [Usage(**dict(row.items())) for row in await tx.fetch(_READ, days, tenants)]


async def cut_today(tx: Tx, *, limit: int) -> list[Usage]:
    """The tenants of whose attempts something was cut today."""
    return [Usage(**dict(row.items())) for row in await tx.fetch(_CUT_TODAY, limit)]


async def forget(tx: Tx) -> None:
    """Drop the days that nobody asks after any more."""
    await tx.execute(_FORGET)
