"""The dashboard on a database of its own, visited over ASGI in the test's own event loop."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from rota.api.app import create
from rota.api.engine import Engine
from rota.clock import SystemClock
from rota.dashboard.events import PageFailed
from rota.db import installation
from rota.events import Bus
from rota.runtime.dashboard import pages
from rota.targets import OPEN
from rota.tenants import service as tenants
from rota.tenants import sql as tenants_sql

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from litestar import Litestar

    from rota.db import Database
    from rota.tenants.tenant import Scope

_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


@dataclass
class Browser:
    """Somebody who looks at pages, with a cookie jar of their own."""

    http: httpx.AsyncClient
    key: str
    csrf: str = ""

    async def sign_in(self) -> httpx.Response:
        answer = await self.enter(key=self.key)
        if answer.status_code == 303:
            self.csrf = csrf_in((await self.http.get("/")).text)
        return answer

    async def enter(self, **form: Any) -> httpx.Response:
        """Send the form of the door, as its page has it."""
        csrf = csrf_in((await self.http.get("/sign-in")).text)
        return await self.http.post("/sign-in", data={"csrf": csrf, **form})

    async def get(self, path: str) -> httpx.Response:
        return await self.http.get(path)

    async def page(self, path: str) -> str:
        """The page's text; it must be there."""
        answer = await self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def send(self, path: str, **form: Any) -> httpx.Response:
        """A form of ours."""
        return await self.http.post(path, data={"csrf": self.csrf, **form})


def csrf_in(page: str) -> str:
    """The token that the forms of a page carry."""
    found = _CSRF.search(page)
    assert found is not None
    return found[1]


@pytest.fixture
async def engine(db: Database) -> Engine:
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))
        shards = (await installation.read(tx)).shards
    bus = Bus()
    # A fault that a test did not ask for shows in its output.
    bus.subscribe(PageFailed, lambda event: traceback.print_exception(event.error))
    return Engine(db=db, clock=SystemClock(), bus=bus, shards=shards, targets=OPEN)


@pytest.fixture
def app(engine: Engine) -> Litestar:
    return create(engine, pages=pages(engine))


async def visitor(
    app: Litestar, engine: Engine, *scopes: Scope, tenant: str | None = None
) -> Browser:
    """Somebody with a key of these scopes, of the default tenant or of another; not signed in."""
    async with engine.db.transaction() as tx:
        owner = await tenants.default_tenant(tx)
        if tenant is not None:
            await tenants_sql.make_tenant(tx, uuid4(), tenant, timedelta(seconds=1))
            found = await tenants_sql.tenant_named(tx, tenant)
            assert found is not None
            owner = found
        key = await tenants.create_key(tx, owner, scopes=scopes)
    transport = httpx.ASGITransport(app)  # pyright: ignore[reportArgumentType] - ASGI
    # Over TLS, as far as the application sees: cookies are the strict ones.
    http = httpx.AsyncClient(transport=transport, base_url="https://rota.example")
    return Browser(http, key.text)


@pytest.fixture
async def browser(app: Litestar, engine: Engine) -> AsyncGenerator[Browser]:
    """The operator, signed in."""
    somebody = await visitor(app, engine, "admin")
    assert (await somebody.sign_in()).status_code == 303
    yield somebody
    await somebody.http.aclose()
