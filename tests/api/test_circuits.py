"""GET /v1/circuits and DELETE /v1/circuits/{host}."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.api.conftest import Api, caller, problem

from rota.queue import circuits
from rota.queue.circuits import Called, Heard, Rules
from rota.tenants import service as tenants

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


async def fail(api: Api, *hosts: str, failures: int = 20, retry_after: int = 0) -> None:
    heard = Heard(failures=failures, error="HTTP 503", retry_after=timedelta(seconds=retry_after))
    async with api.engine.db.transaction() as tx:
        owner = (await tenants.default_tenant(tx)).id
        await circuits.report(tx, {Called(host, owner): heard for host in hosts}, Rules())


async def test_hosts_that_fail_are_listed_with_their_state(api: Api) -> None:
    """HX5."""
    assert (await api.get("/v1/circuits")).json() == {"items": [], "next_cursor": None}
    await fail(api, "down.example:8443")
    await fail(api, "shaky.example", failures=3)
    down, shaky = (await api.get("/v1/circuits")).json()["items"]
    assert (down["host"], down["state"], down["trips"]) == ("down.example:8443", "open", 1)
    assert (down["failures"], down["last_error"]) == (20, "HTTP 503")
    assert (down["tenant"], down["reach"]) == ("default", "tenant")
    assert down["opened_at"] < down["open_until"]
    assert (shaky["host"], shaky["state"], shaky["open_until"]) == ("shaky.example", "closed", None)


async def test_a_circuit_whose_time_is_up_is_half_open(api: Api) -> None:
    await fail(api, "x.example")
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE circuits SET open_until = now()")
    (one,) = (await api.get("/v1/circuits")).json()["items"]
    assert one["state"] == "half_open"


async def test_pages_follow_one_another(api: Api) -> None:
    hosts = [f"{n}.example" for n in range(5)]
    await fail(api, *hosts)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await api.get("/v1/circuits", limit=2, **cursor)).json()
        seen += [each["host"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == hosts
    problem(await api.get("/v1/circuits", cursor="nonsense"), 422)


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("x.example", "x.example"),
        ("x.example", "X.Example"),
        ("x.example:8443", "x.example:8443"),
        ("x.example:8443", "x.example%3A8443"),
        ("[::1]:81", "%5B%3A%3A1%5D%3A81"),
    ],
)
async def test_a_circuit_can_be_reset(api: Api, host: str, path: str) -> None:
    await fail(api, host, "other.example")
    assert (await api.delete(f"/v1/circuits/{path}")).status_code == 204
    left = (await api.get("/v1/circuits")).json()["items"]
    assert [each["host"] for each in left] == ["other.example"]


async def test_nothing_is_reset_where_nothing_is_held_against_a_host(api: Api) -> None:
    await fail(api, "x.example:8443")
    found = problem(await api.delete("/v1/circuits/x.example"), 404)
    assert "x.example" in found["detail"]
    problem(await api.delete("/v1/circuits/%00"), 404)


async def test_circuits_are_for_administrators(engine: Engine, http: httpx.AsyncClient) -> None:
    writer = await caller(engine, http, "read", "write")
    problem(await writer.get("/v1/circuits"), 403)
    problem(await writer.delete("/v1/circuits/x.example"), 403)


async def test_another_tenants_admin_learns_nothing_of_others_hosts(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10."""
    await fail(api, "down.example")
    theirs = await caller(engine, http, "admin", tenant="acme")
    listed = await theirs.get("/v1/circuits")
    problem(listed, 403)
    assert "down.example" not in listed.text
    answers = [
        await theirs.delete(f"/v1/circuits/{host}") for host in ("down.example", "x.example")
    ]
    assert answers[0].status_code == 403
    assert answers[0].content == answers[1].content
    assert len((await api.get("/v1/circuits")).json()["items"]) == 1
