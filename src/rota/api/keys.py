"""`/v1/keys`: making, listing and revoking API keys.

With an admin key of the default tenant, of every tenant; with another's, of its own.
"""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, delete, get, post

from rota import ids
from rota.api import access, bodies, cursors, models, paths, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import bad_field, not_found
from rota.api.queries import Query
from rota.api.saying import says
from rota.db import Tx
from rota.tenants import administer, service
from rota.tenants import sql as tenants_sql
from rota.tenants.tenant import SCOPES, Principal, Tenant

_MAX_NAME = 200
_UNSEEN = {"Cache-Control": "no-store"}


class KeyFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key to be made."""

    scopes: Annotated[list[Annotated[str, says(enum=SCOPES)]], says(minItems=1)]
    """Some of read, write and admin; each includes the ones before it."""
    tenant: str | None = None
    """Whose, by id or name; without it, the caller's own."""
    expires_at: Annotated[datetime, says(format="date-time")] | None = None
    name: Annotated[str, says(maxLength=_MAX_NAME)] = ""
    """What it is for."""


@post("/v1/keys", opt=access.needs("admin"))
async def create_key(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Make a key. Its text is in this answer and nowhere else."""
    given = await bodies.read_as(request, KeyFields)
    if len(given.name) > _MAX_NAME or not given.name.isprintable():
        raise bad_field("name", f"expected up to {_MAX_NAME} characters in one line")

    async def work(tx: Tx) -> Done:
        tenant = await _tenant(tx, caller, given.tenant)
        expires_at = await _expiry(tx, given.expires_at)
        key = await service.create_key(
            tx, tenant, scopes=tuple(given.scopes), expires_at=expires_at, name=given.name
        )
        stored = await tenants_sql.key_by_prefix(tx, key.prefix)
        info = None if stored is None else await tenants_sql.key_info(tx, stored.id)
        assert info is not None, "a key was made and is not there"
        return Done(views.new_key(info, key.text), 201, _UNSEEN)

    # Not repeatable: a key whose commit is in doubt must not be shown as if it were good.
    return await once(request, engine, caller, work, sealed=True, across=True)


@get("/v1/keys", opt=access.needs("admin"))
async def list_keys(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """What may be shown of a tenant's keys, the oldest first; never a key itself."""
    query = Query(request, "tenant", "limit", "cursor")
    whose = query.text("tenant")
    limit = query.limit()
    after = cursors.decode(query.text("cursor"), UUID)

    async def work(tx: Tx) -> list[tenants_sql.KeyInfo]:
        tenant = await _tenant(tx, caller, whose)
        return await service.list_keys(tx, tenant, after=after, limit=limit + 1)

    found = await engine.db.run(work, read_only=True, tenant=access.wall(caller))
    more = cursors.encode(found[limit - 1].id) if len(found) > limit else None
    return models.Page(items=[views.key(each) for each in found[:limit]], next_cursor=more)


@delete("/v1/keys/{key_id:str}", opt=access.needs("admin"))
async def delete_key(engine: TheEngine, caller: Caller, key_id: Named) -> None:
    """Revoke a key; refused everywhere within a second."""
    id_ = paths.key_id(key_id)

    async def work(tx: Tx) -> None:
        info = await tenants_sql.key_info(tx, id_)
        if info is None or not (caller.is_operator or info.tenant_id == caller.tenant.id):
            raise not_found("key")
        tenant = await administer.find(tx, info.tenant_id)
        if tenant is None or not await service.revoke_key(tx, tenant, id_):
            raise not_found("key")

    await engine.db.run(work, tenant=access.wall(caller))


ROUTES = (create_key, list_keys, delete_key)


async def _tenant(tx: Tx, caller: Principal, text: str | None) -> Tenant:
    """The tenant that is named; whether another's exists is not for everybody to know."""
    if text is None:
        return caller.tenant
    found = None if "\0" in text else await administer.find(tx, _id_or_name(text))
    if found is None or not (caller.is_operator or found.id == caller.tenant.id):
        raise bad_field("tenant", "expected a tenant of yours by its id or name, got another")
    return found


def _id_or_name(text: str) -> UUID | str:
    try:
        return ids.from_text(ids.Kind.TENANT, text)
    except ids.InvalidId:
        return text


async def _expiry(tx: Tx, given: datetime | None) -> datetime | None:
    if given is None:
        return None
    if given.tzinfo is None:
        raise bad_field("expires_at", "expected an instant with an offset, such as …Z, got none")
    try:
        given = given.astimezone(UTC)
    except OverflowError:
        raise bad_field(
            "expires_at", "expected an instant of the calendar, got one beyond"
        ) from None
    if given <= await tenants_sql.now(tx):
        raise bad_field("expires_at", "expected an instant in the future, got one that has passed")
    return given
