"""The settings: this installation first, each of the others in a file of its own."""

import platform
from datetime import datetime

from litestar import Response, get

from rota.dashboard import doors, settings
from rota.dashboard.given import TheDesk, TheVisitor
from rota.dashboard.pages import (
    settings_calendars,
    settings_channels,
    settings_keys,
    settings_secrets,
    settings_signing,
    settings_tenants,
)
from rota.db import Tx
from rota.schedules.calendars import countries
from rota.triggers import zones


@get("/settings", opt=doors.needs("read"))
async def installation(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """What runs here, and as whom one is signed in."""

    async def work(tx: Tx) -> tuple[datetime, str]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await tx.fetch_value("SHOW server_version")

    now, postgres = await desk.db.run(work, read_only=True, tenant=visitor.principal.tenant.id)
    return settings.page(
        "settings_installation.html",
        visitor,
        "installation",
        now=now,
        shards=desk.shards,
        tzdata=zones.VERSION,
        holidays=countries.VERSION,
        postgres=postgres.partition(" ")[0],
        python=platform.python_version(),
        secrets_on=desk.vault.is_on,
        apprise=desk.allows_apprise(visitor.principal.tenant),
        public_url=desk.public_url,
        scopes=sorted(visitor.principal.scopes),
    )


ROUTES = (
    installation,
    *settings_secrets.ROUTES,
    *settings_signing.ROUTES,
    *settings_channels.ROUTES,
    *settings_calendars.ROUTES,
    *settings_keys.ROUTES,
    *settings_tenants.ROUTES,
)
