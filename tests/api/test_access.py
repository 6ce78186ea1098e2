"""Who may call: keys, scopes, tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import SCHEDULE, Api, caller, problem

from rota.api import operations
from rota.tenants import service as tenants
from rota.tenants.authenticate import TTL

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

NOBODYS = {
    f"{name}_id": f"{prefix}_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    for name, prefix in (("schedule", "sch"), ("firing", "fir"), ("tenant", "ten"), ("key", "key"))
}
BODIES: dict[str, Any] = {
    "patch": {"priority": 1},
    "post": {},
    "backfill_schedule": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
}
GUARDED = [each for each in operations.ALL if each.scope is not None]


def _path(operation: operations.Operation, **ids: str) -> str:
    path = operation.path.format(
        **{"key": "some", "name": "some", "host": "some", "queue": "some", **NOBODYS, **ids}
    )
    return f"{path}?at=2090-01-01" if "at" in operation.query else path


@pytest.mark.parametrize("operation", GUARDED, ids=lambda each: each.name)
async def test_without_a_key_nothing_is_told(
    http: httpx.AsyncClient, operation: operations.Operation
) -> None:
    answer = await http.request(operation.method, _path(operation), json={})
    problem(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic dTpw", "Bearer x", "Bearer rota_abcdefghijkl_" + "a" * 43],
)
async def test_what_is_not_a_key_in_force_is_refused(http: httpx.AsyncClient, header: str) -> None:
    answer = await http.get("/v1/schedules", headers={"Authorization": header})
    problem(answer, 401)


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


@pytest.mark.parametrize("operation", GUARDED, ids=lambda each: each.name)
async def test_the_scope_of_every_route_is_what_its_description_says(
    engine: Engine, http: httpx.AsyncClient, operation: operations.Operation
) -> None:
    reader = await caller(engine, http, "read")
    answer = await http.request(operation.method, _path(operation), json={}, headers=reader.headers)
    assert (answer.status_code == 403) == (operation.scope != "read")


async def test_a_revoked_key_is_refused_within_a_second(
    engine: Engine, http: httpx.AsyncClient
) -> None:
    async with engine.db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        key = await tenants.create_key(tx, tenant, scopes=("read",))
    headers = {"Authorization": f"Bearer {key.text}"}
    assert (await http.get("/v1/schedules", headers=headers)).status_code == 200
    async with engine.db.transaction() as tx:
        [info] = await tenants.list_keys(tx, tenant)
        assert await tenants.revoke_key(tx, tenant, info.id)
    await engine.clock.sleep(TTL)
    problem(await http.get("/v1/schedules", headers=headers), 401)


async def test_what_others_own_looks_like_nothing_at_all(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    stranger = await caller(engine, http, "admin", tenant="another")
    made = await api.created(key="mine")
    firing = (await api.post(f"/v1/schedules/{made['id']}/trigger")).json()
    [key] = (await api.get("/v1/keys")).json()["items"]
    ours = {
        "schedule_id": made["id"],
        "firing_id": firing["id"],
        "tenant_id": key["tenant"],
        "key_id": key["id"],
    }
    for operation in GUARDED:
        if "_id}" not in operation.path:
            continue
        body = BODIES.get(operation.name, BODIES.get(operation.method))
        answers = [
            await http.request(operation.method, path, json=body, headers=stranger.headers)
            for path in (_path(operation, **ours), _path(operation))
        ]
        assert [each.status_code for each in answers] == [404, 404], operation.name
        assert answers[0].content == answers[1].content
    assert (await stranger.get("/v1/schedules")).json()["items"] == []
    assert (await stranger.get("/v1/schedules", key="mine")).json()["items"] == []
    assert (await stranger.put("/v1/schedules/by-key/mine", SCHEDULE)).status_code == 201
    assert (await api.get(f"/v1/schedules/{made['id']}")).json()["version"] == 1
