"""Making, changing and ending tenants: for whoever runs the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids
from rota.errors import CallerError
from rota.tenants import administer_sql, create_pace, fields, request_pace, sql
from rota.tenants.tenant import DEFAULT_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.tenant import Tenant


class NoSuchTenant(CallerError):
    """There is no tenant of this id or name."""

    def __init__(self) -> None:
        super().__init__("there is no tenant with this id or name")


class TenantInTheWay(CallerError):
    """It cannot be done to this tenant as it is."""


async def create(tx: Tx, given: Mapping[str, object]) -> Tenant:
    """A new tenant; it can do nothing until it has a key."""
    terms = fields.read(given)
    made = await administer_sql.insert(tx, ids.new(at=await sql.now(tx)), terms)
    if made is None:
        raise TenantInTheWay(f"expected a name that is not in use, got {terms.name!r}")
    return made


async def find(tx: Tx, id_or_name: UUID | str) -> Tenant | None:
    """The tenant of this id, or of exactly this name."""
    if isinstance(id_or_name, str):
        return await sql.tenant_named(tx, id_or_name)
    return await administer_sql.by_id(tx, id_or_name)


async def page(tx: Tx, *, after: UUID | None, limit: int) -> list[Tenant]:
    """Tenants in the order in which they were made."""
    return await administer_sql.page(tx, after, limit)


async def change(tx: Tx, tenant_id: UUID, given: Mapping[str, object]) -> Tenant:
    """Change some terms: at once in this process, elsewhere as soon as the notice arrives, and
    within a second or two without it."""
    tenant = await administer_sql.lock(tx, tenant_id)
    if tenant is None:
        raise NoSuchTenant
    terms = fields.change(fields.terms_of(tenant), given)
    if tenant.name == DEFAULT_NAME and terms.name != DEFAULT_NAME:
        raise TenantInTheWay(
            f"expected the tenant {DEFAULT_NAME!r} to keep its name: it is found by it"
        )
    changed = await administer_sql.update(tx, tenant_id, terms)
    if changed is None:
        raise TenantInTheWay(f"expected a name that is not in use, got {terms.name!r}")
    if terms.create_rate != tenant.create_rate:
        before, after = tenant.create_rate, terms.create_rate
        await create_pace.change_rate(tx, tenant_id, before=before, after=after)
    if terms.request_rate != tenant.request_rate:
        await request_pace.clear(tx, tenant_id)
    await sql.announce_change(tx, tenant_id)
    return changed


async def remove(tx: Tx, tenant_id: UUID) -> None:
    """End a tenant that has no schedules, with its keys and secrets; its history stays."""
    tenant = await administer_sql.lock(tx, tenant_id)
    if tenant is None:
        raise NoSuchTenant
    if tenant.name == DEFAULT_NAME:
        raise TenantInTheWay(f"expected another tenant than {DEFAULT_NAME!r}, which must be there")
    if await administer_sql.has_schedules(tx, tenant_id):
        raise TenantInTheWay(
            "expected a tenant without schedules, got one with some: delete them first"
        )
    await administer_sql.delete(tx, tenant_id)
    await sql.announce_change(tx, tenant_id)
