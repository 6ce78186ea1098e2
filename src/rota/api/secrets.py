"""`/v1/secrets`: values go in and never come out; what shows is their names."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

import msgspec
from litestar import delete, get, put

from rota.api import access, bodies, cursors, models
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.problems import Refused
from rota.api.queries import Query
from rota.api.saying import says
from rota.db import Tx
from rota.tenants.secrets import Masked
from rota.tenants.secrets.service import NAME
from rota.tenants.secrets.sql import SecretInfo


class SecretFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret's value: 1 to 32,768 bytes of text. It is never shown again."""

    value: Annotated[str, says(minLength=1, maxLength=32_768)]

    def __repr__(self) -> str:
        return "SecretFields(…)"


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown of a secret."""

    name: str
    version: int
    created_at: datetime
    updated_at: datetime


@put("/v1/secrets/{name:str}", opt=access.needs("write"))
async def put_secret(request: AnyRequest, engine: TheEngine, caller: Caller, name: Named) -> Secret:
    """Make the secret of this name, or give it a new value."""
    value = Masked((await bodies.read_as(request, SecretFields)).value)

    async def work(tx: Tx) -> SecretInfo:
        return await engine.vault.put(tx, caller.tenant.id, name, value)

    # Twice the same value is the same secret, one version later.
    return _view(await engine.db.run(work, repeatable=True, tenant=caller.tenant.id))


@get("/v1/secrets", opt=access.needs("read"))
async def list_secrets(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List the secrets by name, without their values."""
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    after = cursors.decode(query.text("cursor"), str) or ""
    if after and not NAME.fullmatch(after):
        raise cursors.refused(query.text("cursor") or "")

    async def work(tx: Tx) -> list[SecretInfo]:
        # One more than asked for tells whether there is another page.
        return await engine.vault.listed(tx, caller.tenant.id, after=after, limit=limit + 1)

    found = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    page = found[:limit]
    more = cursors.encode(page[-1].name) if len(found) > limit else None
    return models.Page(items=[_view(each) for each in page], next_cursor=more)


@delete("/v1/secrets/{name:str}", opt=access.needs("write"))
async def delete_secret(engine: TheEngine, caller: Caller, name: Named) -> None:
    """Delete a secret; what wants it fails from then on."""

    async def work(tx: Tx) -> bool:
        return await engine.vault.delete(tx, caller.tenant.id, name)

    if not NAME.fullmatch(name) or not await engine.db.run(work, tenant=caller.tenant.id):
        raise Refused(HTTPStatus.NOT_FOUND, "there is no secret of yours with this name")


ROUTES = (put_secret, list_secrets, delete_secret)


def _view(info: SecretInfo) -> Secret:
    return Secret(
        name=info.name,
        version=info.version,
        created_at=info.created_at,
        updated_at=info.updated_at,
    )
