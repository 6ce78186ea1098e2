"""/v1/tenants: make, list, inspect, change, end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.api.conftest import Api, caller, fields_of, made_of, problem

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

NOBODYS = "/v1/tenants/ten_01ARZ3NDEKTSV4RRFFQ69G5FAV"


async def test_a_tenant_reads_back_as_it_was_made(api: Api) -> None:
    terms = {
        "name": "acme",
        "weight": 3,
        "max_concurrency": 10,
        "create_rate": 2.5,
        "max_schedules": 100,
        "min_interval": "5s",
    }
    answer = await api.post("/v1/tenants", terms)
    assert answer.status_code == 201
    made = answer.json()
    assert made["id"].startswith("ten_")
    assert {name: made[name] for name in terms} == terms
    assert (await api.get(f"/v1/tenants/{made['id']}")).json() == made


async def test_what_is_left_out_has_its_default(api: Api) -> None:
    made = (await api.post("/v1/tenants", {"name": "acme"})).json()
    assert (made["weight"], made["max_concurrency"], made["min_interval"]) == (1, None, "1m")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "acme", "weight": 0}, "weight"),
        ({"name": "acme", "colour": "red"}, "colour"),
    ],
)
async def test_bad_terms_are_refused_by_name_and_nothing_is_stored(
    api: Api, body: dict[str, object], field: str
) -> None:
    answer = await api.post("/v1/tenants", body)
    problem(answer, 422)
    assert fields_of(answer) == [field]
    assert len((await api.get("/v1/tenants")).json()["items"]) == 1


async def test_a_name_is_had_once(api: Api) -> None:
    await api.post("/v1/tenants", {"name": "acme"})
    problem(await api.post("/v1/tenants", {"name": "acme"}), 409)
    other = (await api.post("/v1/tenants", {"name": "other"})).json()
    problem(await api.patch(f"/v1/tenants/{other['id']}", {"name": "acme"}), 409)


async def test_terms_are_changed_one_by_one(api: Api) -> None:
    made = (await api.post("/v1/tenants", {"name": "acme", "weight": 3})).json()
    at = f"/v1/tenants/{made['id']}"
    changed = (await api.patch(at, {"max_concurrency": 7})).json()
    assert (changed["weight"], changed["max_concurrency"]) == (3, 7)
    assert (await api.patch(at, {"weight": None})).json()["weight"] == 1
    problem(await api.patch(at, {"weight": "heavy"}), 422)
    problem(await api.patch(NOBODYS, {"weight": 2}), 404)


async def test_pages_follow_one_another(api: Api) -> None:
    names = {f"tenant-{number}" for number in range(5)}
    for name in sorted(names):
        await api.post("/v1/tenants", {"name": name})
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = (await api.get("/v1/tenants", limit=2, cursor=cursor)).json()
        seen += [each["name"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert len(seen) == 6
    assert set(seen) == names | {"default"}


async def test_a_tenant_with_schedules_stays_and_one_without_goes_with_its_keys(api: Api) -> None:
    made = (await api.post("/v1/tenants", {"name": "acme"})).json()
    key = (await api.post("/v1/keys", {"tenant": "acme", "scopes": ["write"]})).json()["key"]
    theirs = Api(api.http, api.engine, {"Authorization": f"Bearer {key}"})
    schedule = await theirs.created()
    problem(await api.delete(f"/v1/tenants/{made['id']}"), 409)
    assert (await theirs.delete(f"/v1/schedules/{schedule['id']}")).status_code == 204
    assert (await api.delete(f"/v1/tenants/{made['id']}")).status_code == 204
    problem(await api.get(f"/v1/tenants/{made['id']}"), 404)
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM api_keys") == 1


async def test_the_default_tenant_keeps_its_name_and_its_place(api: Api) -> None:
    [default] = (await api.get("/v1/tenants")).json()["items"]
    at = f"/v1/tenants/{default['id']}"
    problem(await api.delete(at), 409)
    problem(await api.patch(at, {"name": "other"}), 409)
    assert (await api.patch(at, {"min_interval": "1s"})).json()["min_interval"] == "1s"


async def test_another_tenants_admin_sees_its_own_tenant_alone(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10: another tenant answers as one that does not exist, byte for byte."""
    theirs = await caller(engine, http, "admin", tenant="acme")
    page = (await theirs.get("/v1/tenants")).json()
    assert [each["name"] for each in page["items"]] == ["acme"]
    own = f"/v1/tenants/{page['items'][0]['id']}"
    assert (await theirs.get(own)).status_code == 200
    problem(await theirs.patch(own, {"weight": 1000}), 403)
    problem(await theirs.delete(own), 403)
    problem(await theirs.post("/v1/tenants", {"name": "more"}), 403)
    everyone = (await api.get("/v1/tenants")).json()["items"]
    [default] = [each for each in everyone if each["name"] == "default"]
    foreign = f"/v1/tenants/{default['id']}"
    for method in ("GET", "PATCH", "DELETE"):
        body = {"weight": 2} if method == "PATCH" else None
        answers = [
            await http.request(method, at, headers=theirs.headers, json=body)
            for at in (foreign, NOBODYS)
        ]
        assert answers[0].status_code == 404
        assert answers[0].content == answers[1].content


async def test_who_creates_too_fast_is_asked_to_wait(api: Api) -> None:
    """TN2, F6: on average so many a second; over all nodes, and kept over a restart."""
    await api.post("/v1/tenants", {"name": "acme", "create_rate": 0.01})
    key = (await api.post("/v1/keys", {"tenant": "acme", "scopes": ["write"]})).json()["key"]
    theirs = Api(api.http, api.engine, {"Authorization": f"Bearer {key}"})
    await theirs.created(name="first")
    answer = await theirs.post("/v1/schedules", made_of(name="second"))
    problem(answer, 429)
    assert 90 <= int(answer.headers["retry-after"]) <= 100
    problem(await theirs.put("/v1/schedules/by-key/third", made_of()), 429)
    problem(await theirs.post("/v1/schedules/bulk", {"items": [made_of(name="fourth")]}), 429)
    assert await theirs.count() == 1
    # What is there may be changed, and others are not held up.
    first = (await theirs.get("/v1/schedules")).json()["items"][0]
    assert (await theirs.patch(f"/v1/schedules/{first['id']}", {"priority": 1})).status_code == 200
    await api.created(name="other")


async def test_a_creation_that_fails_costs_nothing(api: Api) -> None:
    await api.post("/v1/tenants", {"name": "acme", "create_rate": 0.01})
    key = (await api.post("/v1/keys", {"tenant": "acme", "scopes": ["write"]})).json()["key"]
    theirs = Api(api.http, api.engine, {"Authorization": f"Bearer {key}"})
    problem(await theirs.post("/v1/schedules", made_of(cron_expr="nonsense")), 422)
    await theirs.created()


async def test_no_more_schedules_than_the_quota(api: Api) -> None:
    await api.post("/v1/tenants", {"name": "acme", "max_schedules": 2})
    key = (await api.post("/v1/keys", {"tenant": "acme", "scopes": ["write"]})).json()["key"]
    theirs = Api(api.http, api.engine, {"Authorization": f"Bearer {key}"})
    await theirs.created(name="first")
    await theirs.created(name="second")
    problem(await theirs.post("/v1/schedules", made_of(name="third")), 403)
    assert await theirs.count() == 2


async def test_what_is_owed_for_creating_is_paid_at_the_new_rate(api: Api) -> None:
    acme = (await api.post("/v1/tenants", {"name": "acme", "create_rate": 0.01})).json()
    key = await api.post("/v1/keys", {"tenant": "acme", "scopes": ["write"]})
    theirs = replace(api, headers={"Authorization": f"Bearer {key.json()['key']}"})
    for number in range(2):
        answer = await theirs.post("/v1/schedules", made_of(key=f"k{number}"))
        assert answer.status_code == (429 if number else 201)
    await api.patch(f"/v1/tenants/{acme['id']}", {"create_rate": 1000})
    assert (await theirs.post("/v1/schedules", made_of(key="k2"))).status_code == 201
    await api.patch(f"/v1/tenants/{acme['id']}", {"create_rate": 0.01})
    assert (await theirs.post("/v1/schedules", made_of(key="k3"))).status_code == 201
    problem(await theirs.post("/v1/schedules", made_of(key="k4")), 429)
    await api.patch(f"/v1/tenants/{acme['id']}", {"create_rate": None})
    assert (await theirs.post("/v1/schedules", made_of(key="k4"))).status_code == 201


async def test_changed_terms_apply_to_the_very_next_request(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    theirs = await caller(engine, http, "write", tenant="acme")
    tenants = (await api.get("/v1/tenants")).json()["items"]
    [at] = [f"/v1/tenants/{each['id']}" for each in tenants if each["name"] == "acme"]
    hourly = made_of(key="one", cron_expr=None, timezone=None, interval="1h")
    assert (await theirs.put("/v1/schedules/by-key/one", hourly)).status_code == 201
    await api.patch(at, {"min_interval": "2h"})
    assert fields_of(await theirs.put("/v1/schedules/by-key/one", hourly)) == ["interval"]
    await api.patch(at, {"min_interval": "1h"})
    assert (await theirs.put("/v1/schedules/by-key/one", hourly)).status_code == 200
    await api.patch(at, {"max_schedules": 1})
    problem(await theirs.post("/v1/schedules", hourly | {"key": "two"}), 403)
    await api.patch(at, {"max_schedules": None, "celery_allow": ["mail.*@*"]})
    celery = {"name": "c", "interval": "1h", "celery_task": "mail.send"}
    assert (await theirs.post("/v1/schedules", celery)).status_code == 201
    await api.patch(at, {"celery_allow": []})
    assert fields_of(await theirs.post("/v1/schedules", celery | {"name": "d"})) == ["celery_task"]


async def test_the_keys_of_a_deleted_tenant_are_refused_by_the_very_next_request(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    theirs = await caller(engine, http, "read", tenant="acme")
    assert (await theirs.get("/v1/schedules")).status_code == 200
    tenants = (await api.get("/v1/tenants")).json()["items"]
    [acme] = [each["id"] for each in tenants if each["name"] == "acme"]
    assert (await api.delete(f"/v1/tenants/{acme}")).status_code == 204
    problem(await theirs.get("/v1/schedules"), 401)
