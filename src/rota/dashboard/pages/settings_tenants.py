"""Tenants: made, changed and ended by whoever runs the installation."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Response, get, post

from rota import durations, ids
from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.tenants import administer, fields
from rota.tenants.tenant import DEFAULT_NAME, Tenant

PAGE: Final = 100
_WHOLE: Final = frozenset({"weight", "max_concurrency", "max_schedules", "capture_budget_mb"})


@get("/settings/tenants", opt=doors.needs("operator"))
async def tenants(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """All of them, the oldest first."""
    query = request.query_params
    after = query.get("after")
    place = None if not after else settings.read_id(ids.Kind.TENANT, after, "page of this list")
    return await _listed(desk, visitor, after=place, done=query.get("done"))


@post("/settings/tenants", opt=doors.needs("operator"))
async def create_tenant(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make one; it can do nothing until it has a key."""
    typed = _typed(await Form.read(request))

    async def work(tx: Tx) -> Tenant:
        return await administer.create(tx, _given(typed))

    try:
        made = await desk.db.run(work, tenant=settings.wall(visitor))
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _listed(desk, visitor, typed=typed, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/tenants/{_id_text(made)}?done=made")


@get("/settings/tenants/{tenant_id:str}", opt=doors.needs("operator"))
async def tenant(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, tenant_id: Named
) -> Response[str]:
    """One, and its limits."""
    id_ = settings.read_id(ids.Kind.TENANT, tenant_id, "tenant")
    return await _one(desk, visitor, id_, done=request.query_params.get("done"))


@post("/settings/tenants/{tenant_id:str}", opt=doors.needs("operator"))
async def change_tenant(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, tenant_id: Named
) -> Response[Any]:
    """Change its name or limits; an empty field takes one back to its default."""
    id_ = settings.read_id(ids.Kind.TENANT, tenant_id, "tenant")
    typed = _typed(await Form.read(request))

    async def work(tx: Tx) -> Tenant:
        return await administer.change(tx, id_, _given(typed))

    try:
        await desk.db.run(work, tenant=settings.wall(visitor))
    except administer.NoSuchTenant:
        raise missing("tenant") from None
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _one(desk, visitor, id_, typed=typed, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/tenants/{tenant_id}?done=saved")


@post("/settings/tenants/{tenant_id:str}/delete", opt=doors.needs("operator"))
async def delete_tenant(desk: TheDesk, visitor: TheVisitor, tenant_id: Named) -> Response[Any]:
    """End one that has no schedules, with its keys and secrets; its history stays."""
    id_ = settings.read_id(ids.Kind.TENANT, tenant_id, "tenant")

    async def work(tx: Tx) -> None:
        await administer.remove(tx, id_)

    try:
        await desk.db.run(work, tenant=settings.wall(visitor))
    except administer.NoSuchTenant:
        raise missing("tenant") from None
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _one(desk, visitor, id_, wrong=wrong, code=code)
    return rendering.go_to("/settings/tenants?done=deleted")


ROUTES = (tenants, create_tenant, tenant, change_tenant, delete_tenant)


async def _listed(
    desk: Desk,
    visitor: Visitor,
    *,
    after: UUID | None = None,
    typed: dict[str, str] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    async def work(tx: Tx) -> tuple[datetime, list[Tenant]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await administer.page(tx, after=after, limit=PAGE + 1)

    now, found = await desk.db.run(work, read_only=True, tenant=settings.wall(visitor))
    return settings.page(
        "settings_tenants.html",
        visitor,
        "tenants",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        tenants=[(_id_text(each), each) for each in found[:PAGE]],
        next_tenant=_id_text(found[PAGE - 1]) if len(found) > PAGE else None,
        first_page=after is None,
        typed=typed or dict.fromkeys(fields.NAMES, ""),
        length=durations.compact,
    )


async def _one(
    desk: Desk,
    visitor: Visitor,
    id_: UUID,
    *,
    typed: dict[str, str] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    async def work(tx: Tx) -> tuple[datetime, Tenant | None]:
        return await tx.fetch_value("SELECT clock_timestamp()"), await administer.find(tx, id_)

    now, found = await desk.db.run(work, read_only=True, tenant=settings.wall(visitor))
    if found is None:
        raise missing("tenant")
    return settings.page(
        "settings_tenant.html",
        visitor,
        "tenants",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        tenant=found,
        id=_id_text(found),
        is_default=found.name == DEFAULT_NAME,
        typed=typed or _terms(found),
    )


def _id_text(tenant: Tenant) -> str:
    return ids.to_text(ids.Kind.TENANT, tenant.id)


def _terms(tenant: Tenant) -> dict[str, str]:
    """A tenant's limits as one would type them."""
    values = {name: getattr(tenant, name) for name in fields.NAMES}
    values["min_interval"] = durations.compact(tenant.min_interval)
    values["celery_allow"] = " ".join(tenant.celery_allow)
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value or "")
        for name, value in values.items()
    }


def _typed(form: Form) -> dict[str, str]:
    return {name: form.text(name) for name in fields.NAMES}


def _given(typed: dict[str, str]) -> dict[str, object]:
    """The fields as the service reads them; what is no number is left for it to refuse."""
    return {name: _value(name, text) for name, text in typed.items()}


def _value(name: str, text: str) -> object:
    if not text:
        return None
    if name == "celery_allow":
        return text.split()
    if name in _WHOLE and text.isascii() and text.isdecimal() and len(text) < 20:
        return int(text)
    if name in {"create_rate", "request_rate"}:
        try:
            return float(text)
        except ValueError:
            return text
    return text
