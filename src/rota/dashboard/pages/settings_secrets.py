"""Secrets: values go in and never come out; what shows is their names."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from litestar import Response, get, post

from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import MEDIUM, Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.tenants.secrets import Masked
from rota.tenants.secrets.service import NAME
from rota.tenants.secrets.sql import SecretInfo

PAGE: Final = 100


@get("/settings/secrets", opt=doors.needs("read"))
async def secrets(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """Their names, and when they were last changed."""
    query = request.query_params
    after = query.get("after", "")
    return await _shown(
        desk,
        visitor,
        after=after if NAME.fullmatch(after) else "",
        done=query.get("done"),
        name=query.get("name", "") if NAME.fullmatch(query.get("name", "")) else "",
    )


@post("/settings/secrets", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def put_secret(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make the secret, or give it a new value."""
    form = await Form.read(request)
    name, value = form.text("name"), Masked(form.lines("value"))
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> SecretInfo:
        return await desk.vault.put(tx, tenant, name, value)

    try:
        await desk.db.run(work, repeatable=True, tenant=tenant)
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        # The value does not stay in the form: it may be a secret that was nearly right.
        return await _shown(desk, visitor, name=name, wrong=wrong, code=code)
    return rendering.go_to("/settings/secrets?done=set")


@post("/settings/secrets/delete", opt=doors.needs("write"))
async def delete_secret(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Forget it; what wants it fails from then on."""
    name = (await Form.read(request)).text("name")
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> bool:
        return await desk.vault.delete(tx, tenant, name)

    if not NAME.fullmatch(name) or not await desk.db.run(work, tenant=tenant):
        raise missing("secret")
    return rendering.go_to("/settings/secrets?done=deleted")


ROUTES = (secrets, put_secret, delete_secret)


async def _shown(
    desk: Desk,
    visitor: Visitor,
    *,
    after: str = "",
    name: str = "",
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, list[SecretInfo]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await desk.vault.listed(tx, tenant, after=after, limit=PAGE + 1)

    now, found = await desk.db.run(work, read_only=True, tenant=tenant)
    return settings.page(
        "settings_secrets.html",
        visitor,
        "secrets",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        secrets=found[:PAGE],
        next_name=found[PAGE - 1].name if len(found) > PAGE else None,
        first_page=not after,
        is_on=desk.vault.is_on,
        name=name,
    )
