"""The statements of whoever runs the installation, on tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.tenants.sql import tenant_of

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.fields import Terms
    from rota.tenants.tenant import Tenant

_INSERT: LiteralString = """
    INSERT INTO tenants (id, name, weight, max_concurrency, create_rate, request_rate,
                         max_schedules, min_interval, celery_allow, capture_budget_mb)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (name) DO NOTHING
 RETURNING *
"""

_BY_ID: LiteralString = "SELECT * FROM tenants WHERE id = $1"

_LOCK: LiteralString = "SELECT * FROM tenants WHERE id = $1 FOR UPDATE"

_PAGE: LiteralString = """
    SELECT * FROM tenants
     WHERE $1::uuid IS NULL OR id > $1
     ORDER BY id
     LIMIT $2
"""

_UPDATE: LiteralString = """
    UPDATE tenants t
       SET name = $2, weight = $3, max_concurrency = $4, create_rate = $5, request_rate = $6,
           max_schedules = $7, min_interval = $8, celery_allow = $9, capture_budget_mb = $10
     WHERE t.id = $1 AND NOT EXISTS (SELECT FROM tenants o WHERE o.name = $2 AND o.id <> $1)
 RETURNING *
"""

_HAS_SCHEDULES: LiteralString = """
    SELECT EXISTS (SELECT FROM schedules WHERE tenant_id = $1)
"""

_DELETE: LiteralString = "DELETE FROM tenants WHERE id = $1"


async def insert(tx: Tx, id_: UUID, terms: Terms) -> Tenant | None:
    """None when the name is in use."""
    row = await tx.fetch_row(_INSERT, id_, *_values(terms))
    return None if row is None else tenant_of(row)


async def by_id(tx: Tx, tenant_id: UUID) -> Tenant | None:
    row = await tx.fetch_row(_BY_ID, tenant_id)
    return None if row is None else tenant_of(row)


async def lock(tx: Tx, tenant_id: UUID) -> Tenant | None:
    """Ours until the transaction ends: no schedule of it can be made meanwhile."""
    row = await tx.fetch_row(_LOCK, tenant_id)
    return None if row is None else tenant_of(row)


async def page(tx: Tx, after: UUID | None, limit: int) -> list[Tenant]:
    return [tenant_of(row) for row in await tx.fetch(_PAGE, after, limit)]


async def update(tx: Tx, tenant_id: UUID, terms: Terms) -> Tenant | None:
    """None when another tenant has the name."""
    row = await tx.fetch_row(_UPDATE, tenant_id, *_values(terms))
    return None if row is None else tenant_of(row)


async def has_schedules(tx: Tx, tenant_id: UUID) -> bool:
    return bool(await tx.fetch_value(_HAS_SCHEDULES, tenant_id))


async def delete(tx: Tx, tenant_id: UUID) -> None:
    await tx.execute(_DELETE, tenant_id)


def _values(terms: Terms) -> tuple[object, ...]:
    return (
        terms.name,
        terms.weight,
        terms.max_concurrency,
        terms.create_rate,
        terms.request_rate,
        terms.max_schedules,
        terms.min_interval,
        list(terms.celery_allow),
        terms.capture_budget_mb,
    )
