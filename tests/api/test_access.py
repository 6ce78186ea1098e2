"""Who may call: keys, scopes, tenants."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any, LiteralString, cast

import httpx
import pytest
from tests.api.conftest import SCHEDULE, Api, caller, problem

from rota.api.app import create
from rota.db import Database
from rota.tenants import service as tenants
from rota.tenants.authenticate import TTL

if TYPE_CHECKING:
    from rota.api.engine import Engine


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic dTpw", "Bearer x", "Bearer rota_abcdefghijkl_" + "a" * 43],
)
async def test_what_is_not_a_key_in_force_is_refused(http: httpx.AsyncClient, header: str) -> None:
    answer = await http.get("/v1/schedules", headers={"Authorization": header})
    problem(answer, 401)


async def test_an_unknown_key_a_wrong_secret_and_a_revoked_key_are_refused_alike(api: Api) -> None:
    """S9: byte for byte, so that nobody learns which prefixes there are."""
    made = (await api.post("/v1/keys", {"scopes": ["read"]})).json()
    good: str = made["key"]
    start, secret = good.rsplit("_", 1)
    wrong = f"{start}_{secret[::-1]}"
    unknown = f"rota_{'A' * 12}_{secret}"
    answers = [await _asked(api, text) for text in (wrong, unknown)]
    assert (await _asked(api, good)).status_code == 200
    await api.delete(f"/v1/keys/{made['id']}")
    await api.engine.clock.sleep(TTL)
    answers.append(await _asked(api, good))
    problem(answers[0], 401)
    assert len({each.content for each in answers}) == 1
    assert len({tuple(each.headers.items()) for each in answers}) == 1


async def test_a_key_is_nowhere_in_the_database(api: Api) -> None:
    """S9: not in the answer either, that is kept for whoever asks again."""
    headers = api.headers | {"Idempotency-Key": "once"}
    body = {"scopes": ["read"]}
    made = await api.http.post("/v1/keys", json=body, headers=headers)
    secret: str = made.json()["key"].rsplit("_", 1)[1]
    assert (await _asked(api, made.json()["key"])).status_code == 200
    async with api.engine.db.transaction(read_only=True) as tx:
        tables = await tx.fetch(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'rota'::regnamespace"
        )
        dump = [
            str(row[0])
            for (table,) in tables
            for row in await tx.fetch(cast("LiteralString", f"SELECT t::text FROM {table} t"))
        ]
    assert any(made.json()["prefix"] in row for row in dump)
    for form in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode()[:40]):
        assert [row for row in dump if form in row] == []


async def _asked(api: Api, key: str) -> httpx.Response:
    return await api.http.get("/v1/schedules", headers={"Authorization": f"Bearer {key}"})


async def test_a_key_is_not_taken_from_a_cookie_or_the_address(api: Api) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    headers = {"Cookie": f"authorization=Bearer {key}; api_key={key}"}
    answer = await api.http.get(f"/v1/schedules?api_key={key}", headers=headers)
    problem(answer, 401)


async def test_a_reader_may_read_and_not_write(engine: Engine, http: httpx.AsyncClient) -> None:
    reader = await caller(engine, http, "read")
    assert (await reader.get("/v1/schedules")).status_code == 200
    preview: dict[str, Any] = {"cron_expr": "0 9 * * *"}
    assert (await reader.post("/v1/preview", preview)).status_code == 200
    problem(await reader.post("/v1/schedules", SCHEDULE), 403)
    assert await reader.count() == 0


async def test_a_revoked_key_is_refused_within_a_second_by_every_node(
    engine: Engine, http: httpx.AsyncClient, dsn: str
) -> None:
    """S9: also by those that have just seen it, and had no part in the revoking."""
    async with engine.db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        key = await tenants.create_key(tx, tenant, scopes=("read",))
    headers = {"Authorization": f"Bearer {key.text}"}
    async with await Database.open(dsn) as db:
        transport = httpx.ASGITransport(create(replace(engine, db=db)))  # pyright: ignore[reportArgumentType] - ASGI
        async with httpx.AsyncClient(transport=transport, base_url="http://other") as other:
            nodes = (http, other)
            for node in nodes:
                assert (await node.get("/v1/schedules", headers=headers)).status_code == 200
            async with engine.db.transaction() as tx:
                [info] = await tenants.list_keys(tx, tenant)
                assert await tenants.revoke_key(tx, tenant, info.id)
            await engine.clock.sleep(TTL)
            for node in nodes:
                problem(await node.get("/v1/schedules", headers=headers), 401)
