"""Tenants by id, for those who ask at every firing: read once a second at most, or when one of
them has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.tenants import administer_sql, sql
from rota.tenants.secrets.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.tenants.tenant import Tenant


def remembered_tenants(
    db: Database, *, clock: Clock | None = None
) -> Callable[[UUID], Awaitable[Tenant | None]]:
    """What finds a tenant, as it is now or was a second ago; None when there is none."""

    async def read(ids: Sequence[UUID]) -> Mapping[UUID, Tenant]:
        async with db.reading() as tx:
            found = [await administer_sql.by_id(tx, id_) for id_ in ids]
        return {each.id: each for each in found if each is not None}

    kept = Remembered(read, clock=clock)
    db.on_notice(sql.CHANNEL, lambda changed: kept.expire(lambda id_: changed in (None, str(id_))))

    async def find(tenant_id: UUID) -> Tenant | None:
        return (await kept.of((tenant_id,))).get(tenant_id)

    return find
