"""/v1/keys: make, list, revoke (S9)."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.deadlines import Strain, crowding

from rota.clock import SystemClock

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

NOBODYS = "/v1/keys/key_01ARZ3NDEKTSV4RRFFQ69G5FAV"
_CLOCK = SystemClock()


def _with(api: Api, made: dict[str, Any]) -> Api:
    return Api(api.http, api.engine, {"Authorization": f"Bearer {made['key']}"})


async def test_a_key_works_and_is_shown_once(api: Api) -> None:
    answer = await api.post("/v1/keys", {"scopes": ["read"], "name": "dashboard"})
    assert answer.status_code == 201
    made = answer.json()
    assert made["key"].startswith(f"rota_{made['prefix']}_")
    assert (made["scopes"], made["name"], made["expires_at"]) == (["read"], "dashboard", None)
    assert (await _with(api, made).get("/v1/schedules")).status_code == 200
    problem(await _with(api, made).post("/v1/schedules", {}), 403)
    listed = await api.get("/v1/keys")
    assert made["key"] not in listed.text
    assert made["key"].rpartition("_")[2] not in listed.text
    [shown] = [each for each in listed.json()["items"] if each["id"] == made["id"]]
    assert shown["last_used_at"] is not None


async def test_a_key_is_of_the_tenant_named_by_id_or_name(api: Api) -> None:
    tenant = (await api.post("/v1/tenants", {"name": "acme"})).json()
    for named in (tenant["id"], "acme"):
        made = (await api.post("/v1/keys", {"tenant": named, "scopes": ["write"]})).json()
        assert made["tenant"] == tenant["id"]
        await _with(api, made).created(name=named)
    assert len((await api.get("/v1/schedules")).json()["items"]) == 0
    assert len((await api.get("/v1/keys", tenant="acme")).json()["items"]) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": "read"}, "scopes"),
        ({"scopes": ["read"], "tenant": "nobody"}, "tenant"),
        ({"scopes": ["read"], "tenant": "a\0b"}, "tenant"),
        ({"scopes": ["read"], "tenant": "ten_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "tenant"),
        ({"scopes": ["read"], "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"scopes": ["read"], "expires_at": "2030-01-01T00:00:00"}, "expires_at"),
        ({"scopes": ["read"], "expires_at": "tomorrow"}, "expires_at"),
        ({"scopes": ["read"], "expires_at": "9999-12-31T23:59:59-12:00"}, "expires_at"),
        ({"scopes": ["read"], "name": "a\nb"}, "name"),
        ({"scopes": ["read"], "colour": "red"}, "colour"),
    ],
)
async def test_a_bad_wish_is_refused_by_name(api: Api, body: dict[str, Any], field: str) -> None:
    answer = await api.post("/v1/keys", body)
    problem(answer, 422)
    assert fields_of(answer) == [field]
    assert len((await api.get("/v1/keys")).json()["items"]) == 1


async def test_a_key_ends_when_it_said_it_would(api: Api) -> None:
    # Time enough to make the key and to use it.
    soon = _CLOCK.now().astimezone(UTC) + timedelta(seconds=crowding())
    strain = Strain()
    made = (await api.post("/v1/keys", {"scopes": ["read"], "expires_at": soon.isoformat()})).json()
    while (await _with(api, made).get("/v1/schedules")).status_code == 200:
        assert _CLOCK.now() < soon + timedelta(seconds=5 + strain.seconds)
    assert _CLOCK.now() >= soon - timedelta(milliseconds=50)
    problem(await _with(api, made).get("/v1/schedules"), 401)


async def test_the_server_that_revokes_a_key_refuses_its_very_next_request(api: Api) -> None:
    made = (await api.post("/v1/keys", {"scopes": ["read"]})).json()
    assert (await _with(api, made).get("/v1/schedules")).status_code == 200
    assert (await api.delete(f"/v1/keys/{made['id']}")).status_code == 204
    problem(await _with(api, made).get("/v1/schedules"), 401)
    problem(await api.delete(f"/v1/keys/{made['id']}"), 404)


async def test_the_last_admin_key_of_the_installation_stays(api: Api) -> None:
    [only] = (await api.get("/v1/keys")).json()["items"]
    problem(await api.delete(f"/v1/keys/{only['id']}"), 409)
    other = (await api.post("/v1/keys", {"scopes": ["admin"]})).json()
    assert (await api.delete(f"/v1/keys/{other['id']}")).status_code == 204


async def test_another_tenants_admin_makes_and_ends_its_own_keys_alone(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10."""
    theirs = await caller(engine, http, "admin", tenant="acme")
    made = (await theirs.post("/v1/keys", {"scopes": ["read"]})).json()
    assert (await theirs.delete(f"/v1/keys/{made['id']}")).status_code == 204
    wishes = [
        await theirs.post("/v1/keys", {"tenant": name, "scopes": ["read"]})
        for name in ("default", "nobody")
    ]
    assert wishes[0].status_code == 422
    assert wishes[0].content == wishes[1].content
    lists = [await theirs.get("/v1/keys", tenant=name) for name in ("default", "nobody")]
    assert lists[0].status_code == 422
    assert lists[0].content == lists[1].content
    [ours] = (await api.get("/v1/keys")).json()["items"]
    ends = [await theirs.delete(at) for at in (f"/v1/keys/{ours['id']}", NOBODYS)]
    assert ends[0].status_code == 404
    assert ends[0].content == ends[1].content


async def test_only_an_admin_makes_keys(engine: Engine, http: httpx.AsyncClient) -> None:
    writer = await caller(engine, http, "write")
    problem(await writer.post("/v1/keys", {"scopes": ["admin"]}), 403)
    problem(await writer.get("/v1/keys"), 403)
