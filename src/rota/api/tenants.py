"""`/v1/tenants`: for whoever runs the installation, with an admin key of the default tenant.

An admin key of another tenant sees its own tenant and no other: what others there are is not for
it to know, so everything else answers as if it did not exist.
"""

from typing import Any
from uuid import UUID

from litestar import Response, delete, get, patch, post

from rota.api import access, bodies, cursors, models, paths, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import not_found
from rota.api.queries import Query
from rota.db import Tx
from rota.tenants import administer
from rota.tenants.tenant import Principal, Tenant


@post("/v1/tenants", opt=access.needs("admin"))
async def create_tenant(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Make a tenant."""
    access.require_operator(caller)
    given = await bodies.read_object(request)

    async def work(tx: Tx) -> Done:
        return Done(views.tenant(await administer.create(tx, given)), 201)

    return await once(request, engine, caller, work, across=True)


@get("/v1/tenants", opt=access.needs("admin"))
async def list_tenants(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """All tenants, the oldest first; of another tenant's key, its own."""
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    after = cursors.decode(query.text("cursor"), UUID)
    if not caller.is_operator:
        own = await engine.db.run(
            lambda tx: _find(tx, caller, caller.tenant.id),
            read_only=True,
            tenant=access.wall(caller),
        )
        return models.Page(items=[views.tenant(own)], next_cursor=None)

    async def work(tx: Tx) -> list[Tenant]:
        return await administer.page(tx, after=after, limit=limit + 1)

    found = await engine.db.run(work, read_only=True)
    more = cursors.encode(found[limit - 1].id) if len(found) > limit else None
    return models.Page(items=[views.tenant(each) for each in found[:limit]], next_cursor=more)


@get("/v1/tenants/{tenant_id:str}", opt=access.needs("admin"))
async def get_tenant(engine: TheEngine, caller: Caller, tenant_id: Named) -> views.Tenant:
    """One tenant."""
    id_ = paths.tenant_id(tenant_id)
    return views.tenant(
        await engine.db.run(
            lambda tx: _find(tx, caller, id_), read_only=True, tenant=access.wall(caller)
        )
    )


@patch("/v1/tenants/{tenant_id:str}", opt=access.needs("admin"))
async def update_tenant(
    request: AnyRequest, engine: TheEngine, caller: Caller, tenant_id: Named
) -> views.Tenant:
    """Change the fields given; null takes one back to its default."""
    id_ = paths.tenant_id(tenant_id)
    given: dict[str, Any] = await bodies.read_object(request)

    async def work(tx: Tx) -> Tenant:
        await _find(tx, caller, id_)
        access.require_operator(caller)
        return await administer.change(tx, id_, given)

    return views.tenant(await engine.db.run(work, tenant=access.wall(caller)))


@delete("/v1/tenants/{tenant_id:str}", opt=access.needs("admin"))
async def delete_tenant(engine: TheEngine, caller: Caller, tenant_id: Named) -> None:
    """End a tenant that has no schedules, with its keys and secrets; its history stays."""
    id_ = paths.tenant_id(tenant_id)

    async def work(tx: Tx) -> None:
        await _find(tx, caller, id_)
        access.require_operator(caller)
        await administer.remove(tx, id_)

    await engine.db.run(work, tenant=access.wall(caller))


ROUTES = (create_tenant, list_tenants, get_tenant, update_tenant, delete_tenant)


async def _find(tx: Tx, caller: Principal, tenant_id: UUID) -> Tenant:
    """The tenant, if the caller may know of it."""
    found = await administer.find(tx, tenant_id)
    if found is None or not (caller.is_operator or found.id == caller.tenant.id):
        raise not_found("tenant")
    return found
