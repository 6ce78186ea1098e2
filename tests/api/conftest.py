"""The application on a database of its own, called over ASGI in the test's own event loop."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from rota.api.app import create
from rota.api.engine import Engine
from rota.api.problems import RequestFailed
from rota.clock import SystemClock
from rota.db import installation
from rota.events import Bus
from rota.targets import OPEN
from rota.tenants import service as tenants
from rota.tenants import sql as tenants_sql

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database
    from rota.tenants.tenant import Scope

SCHEDULE: dict[str, Any] = {
    "name": "morning-report",
    "cron_expr": "0 9 * * MON-FRI",
    "timezone": "America/New_York",
    "target_url": "https://acme.example/webhooks/morning-report",
    "payload": {"team": "ops"},
    "idempotency_key": "morning-report-ops",
}


@dataclass(frozen=True)
class Api:
    """The API as one caller sees it."""

    http: httpx.AsyncClient
    engine: Engine
    headers: dict[str, str]

    async def get(self, path: str, **query: Any) -> httpx.Response:
        return await self.http.get(path, params=query, headers=self.headers)

    async def post(self, path: str, body: Any = None, **query: Any) -> httpx.Response:
        return await self.http.post(path, json=body, params=query, headers=self.headers)

    async def put(self, path: str, body: Any) -> httpx.Response:
        return await self.http.put(path, json=body, headers=self.headers)

    async def patch(self, path: str, body: Any) -> httpx.Response:
        return await self.http.patch(path, json=body, headers=self.headers)

    async def delete(self, path: str) -> httpx.Response:
        return await self.http.delete(path, headers=self.headers)

    async def created(self, **fields: Any) -> dict[str, Any]:
        """A schedule made of SCHEDULE with some fields changed; None takes one away."""
        answer = await self.post("/v1/schedules", made_of(**fields))
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def count(self) -> int:
        """How many schedules there are, whoever owns them."""
        async with self.engine.db.transaction() as tx:
            return await tx.fetch_value("SELECT count(*) FROM schedules")


def made_of(**fields: Any) -> dict[str, Any]:
    """SCHEDULE with some fields changed; None takes one away."""
    merged = SCHEDULE | fields
    return {name: value for name, value in merged.items() if value is not None}


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem that the answer is; it must be whole."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert isinstance(body["errors"], list)
    return body


def fields_of(answer: httpx.Response) -> list[str]:
    """The fields that a problem names."""
    return [error["field"] for error in answer.json()["errors"]]


@pytest.fixture
async def engine(db: Database) -> Engine:
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=60))
        shards = (await installation.read(tx)).shards
    bus = Bus()
    # A fault that a test did not ask for shows in its output.
    bus.subscribe(RequestFailed, lambda event: traceback.print_exception(event.error))
    return Engine(db=db, clock=SystemClock(), bus=bus, shards=shards, targets=OPEN)


@pytest.fixture
async def http(engine: Engine) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create(engine))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as client:
        yield client


@pytest.fixture
async def api(engine: Engine, http: httpx.AsyncClient) -> Api:
    """The default tenant's, with a key that may do everything."""
    return await caller(engine, http, "admin")


async def caller(
    engine: Engine, http: httpx.AsyncClient, *scopes: Scope, tenant: str | None = None
) -> Api:
    """Somebody with a key of these scopes, of the default tenant or one of its own."""
    async with engine.db.transaction() as tx:
        owner = await tenants.default_tenant(tx)
        if tenant is not None:
            await tenants_sql.make_tenant(tx, uuid4(), tenant, timedelta(seconds=60))
            found = await tenants_sql.tenant_named(tx, tenant)
            assert found is not None
            owner = found
        key = await tenants.create_key(tx, owner, scopes=scopes)
    return Api(http, engine, {"Authorization": f"Bearer {key.text}"})
