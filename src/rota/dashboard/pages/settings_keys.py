"""API keys: made, shown once, listed by what may be seen of them, revoked.

Whoever runs the installation has those of every tenant; others have their own.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Response, get, post

from rota import ids
from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.errors import InvalidInput
from rota.tenants import administer, service
from rota.tenants import sql as tenants_sql
from rota.tenants.keys import ApiKey
from rota.tenants.sql import KeyInfo
from rota.tenants.tenant import SCOPES, Tenant

PAGE: Final = 100
EXPIRIES: Final = {
    "": ("never", None),
    "1d": ("in a day", timedelta(days=1)),
    "7d": ("in 7 days", timedelta(days=7)),
    "30d": ("in 30 days", timedelta(days=30)),
    "90d": ("in 90 days", timedelta(days=90)),
    "365d": ("in a year", timedelta(days=365)),
}
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Typed:
    """What a form said, to be shown again when it was refused."""

    name: str = ""
    scope: str = "read"
    expires: str = "90d"


@get("/settings/keys", opt=doors.needs("admin"))
async def keys(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """What may be seen of the keys."""
    query = request.query_params
    after = query.get("after")
    return await _shown(
        desk,
        visitor,
        whose=query.get("tenant", ""),
        after=None if not after else settings.read_id(ids.Kind.KEY, after, "page of this list"),
        done=query.get("done"),
    )


@post("/settings/keys", opt=doors.needs("admin"))
async def create_key(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make a key. Its text is in this answer and nowhere else."""
    form = await Form.read(request)
    whose = form.text("tenant")
    typed = _Typed(name=form.text("name"), scope=form.text("scope"), expires=form.text("expires"))

    async def work(tx: Tx) -> ApiKey:
        tenant = await _tenant(tx, visitor, whose)
        length = _expiry(typed)
        until = None if length is None else await tenants_sql.now(tx) + length
        return await service.create_key(
            tx, tenant, scopes=(typed.scope,), expires_at=until, name=typed.name
        )

    try:
        _check_name(typed.name)
        # Not repeatable: a key whose commit is in doubt must not be shown as if it were good.
        made = await desk.db.run(work, tenant=settings.wall(visitor))
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _shown(desk, visitor, whose=whose, typed=typed, wrong=wrong, code=code)
    return await _shown(desk, visitor, whose=whose, made=made.text, code=HTTPStatus.CREATED)


@post("/settings/keys/{key_id:str}/revoke", opt=doors.needs("admin"))
async def revoke_key(desk: TheDesk, visitor: TheVisitor, key_id: Named) -> Response[Any]:
    """End a key, and the sessions that were begun with it."""
    id_ = settings.read_id(ids.Kind.KEY, key_id, "key")
    own = visitor.principal.tenant.id

    async def work(tx: Tx) -> UUID:
        info = await tenants_sql.key_info(tx, id_)
        if info is None or not (visitor.may("operator") or info.tenant_id == own):
            raise missing("key")
        tenant = await administer.find(tx, info.tenant_id)
        if tenant is None or not await service.revoke_key(tx, tenant, id_):
            raise missing("key")
        return info.tenant_id

    try:
        of = await desk.db.run(work, tenant=settings.wall(visitor))
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _shown(desk, visitor, wrong=wrong, code=code)
    whose = "" if of == own else f"&tenant={ids.to_text(ids.Kind.TENANT, of)}"
    return rendering.go_to(f"/settings/keys?done=revoked{whose}")


ROUTES = (keys, create_key, revoke_key)


async def _shown(
    desk: Desk,
    visitor: Visitor,
    *,
    whose: str = "",
    after: UUID | None = None,
    typed: _Typed | None = None,
    made: str | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    async def work(tx: Tx) -> tuple[datetime, Tenant, list[KeyInfo]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        tenant = await _tenant(tx, visitor, whose)
        return now, tenant, await service.list_keys(tx, tenant, after=after, limit=PAGE + 1)

    now, tenant, found = await desk.db.run(work, read_only=True, tenant=settings.wall(visitor))
    return settings.page(
        "settings_keys.html",
        visitor,
        "keys",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        keys=[(ids.to_text(ids.Kind.KEY, each.id), each) for each in found[:PAGE]],
        next_key=_id_text(found[PAGE - 1]) if len(found) > PAGE else None,
        first_page=after is None,
        tenant=tenant,
        whose=whose,
        typed=typed or _Typed(),
        made=made,
        scopes=SCOPES,
        expiries=EXPIRIES,
    )


def _id_text(info: KeyInfo) -> str:
    return ids.to_text(ids.Kind.KEY, info.id)


async def _tenant(tx: Tx, visitor: Visitor, text: str) -> Tenant:
    """The tenant that is named; whether another's exists is not for everybody to know."""
    if not text:
        return visitor.principal.tenant
    id_ = settings.read_id(ids.Kind.TENANT, text, "tenant")
    found = await administer.find(tx, id_)
    if found is None or not (visitor.may("operator") or id_ == visitor.principal.tenant.id):
        raise missing("tenant")
    return found


def _check_name(name: str) -> None:
    if len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidInput(
            f"Invalid name: expected up to {_MAX_NAME} characters in one line", field="name"
        )


def _expiry(typed: _Typed) -> timedelta | None:
    if typed.expires not in EXPIRIES:
        raise InvalidInput("Invalid expiry: expected one of the form's", field="expires")
    return EXPIRIES[typed.expires][1]
