"""Signing keys: one per host, shown on request, and rotated. Viewing the page makes none."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from litestar import Response, get, post

from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused
from rota.db import Tx
from rota.targets import signing_host
from rota.tenants.signing import SigningSecret, SigningSecrets
from rota.tenants.signing import sql as signing_sql

OVERLAPS: Final = {
    "24h": ("24 hours", timedelta(hours=24)),
    "1h": ("1 hour", timedelta(hours=1)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
    "0": ("not at all: it was leaked", timedelta()),
}


@get("/settings/signing", opt=doors.needs("admin"))
async def signing(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """Which versions there are; the key of a host is asked for by a form."""
    return await _shown(desk, visitor, done=request.query_params.get("done"))


@post("/settings/signing/show", opt=doors.needs("admin"))
async def show_signing(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """The key of a host, in this one answer; the secret is made when there is none yet."""
    given = (await Form.read(request)).text("host")
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> list[SigningSecret]:
        return await SigningSecrets(desk.vault).of(tx, tenant)

    try:
        host = signing_host.read(given)
        newest = (await desk.db.run(work, repeatable=True, tenant=tenant))[0]
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _shown(desk, visitor, host=given, wrong=wrong, code=code)
    return await _shown(desk, visitor, host=host, secret=newest.text_for(host))


@post("/settings/signing/rotate", opt=doors.needs("admin"))
async def rotate_signing(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make a new secret; the one before signs next to it for a while."""
    chosen = OVERLAPS.get((await Form.read(request)).text("overlap"))
    if chosen is None:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "Expected one of the overlaps of the form.")
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> None:
        await SigningSecrets(desk.vault).rotate(tx, tenant, overlap=chosen[1])

    try:
        await desk.db.run(work, tenant=tenant)
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _shown(desk, visitor, wrong=wrong, code=code)
    return rendering.go_to("/settings/signing?done=rotated")


ROUTES = (signing, show_signing, rotate_signing)


async def _shown(
    desk: Desk,
    visitor: Visitor,
    *,
    host: str = "",
    secret: str | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, list[signing_sql.SealedSigning]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await signing_sql.active(tx, [tenant])

    now, versions = await desk.db.run(work, read_only=True, tenant=tenant)
    return settings.page(
        "settings_signing.html",
        visitor,
        "signing",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        versions=versions,
        host=host,
        secret=secret,
        overlaps=OVERLAPS,
        is_on=desk.vault.is_on,
    )
