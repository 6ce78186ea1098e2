"""`/v1/secrets`: values go in and never come out (SC1-SC3)."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.api.outcomes import left
from tests.db.secrets_kit import vault

from rota.api.app import create
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from rota.api.engine import Engine

CANARY = "CANARY-58c1"


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    return replace(engine, vault=vault())


async def test_a_secret_is_made_changed_and_listed_without_its_value(api: Api) -> None:
    made = await api.put("/v1/secrets/API_KEY", {"value": CANARY})
    assert made.status_code == 200
    assert made.json() | {"created_at": 0, "updated_at": 0} == {
        "name": "API_KEY",
        "version": 1,
        "created_at": 0,
        "updated_at": 0,
    }
    changed = await api.put("/v1/secrets/API_KEY", {"value": CANARY + "2"})
    assert changed.json()["version"] == 2
    listed = await api.get("/v1/secrets")
    assert [each["name"] for each in listed.json()["items"]] == ["API_KEY"]
    assert CANARY not in made.text + changed.text + listed.text


async def test_the_list_has_pages_in_the_order_of_names(api: Api) -> None:
    for name in ("b", "_a", "C", "a9", "B"):
        await api.put(f"/v1/secrets/{name}", {"value": "v"})
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.get("/v1/secrets", limit=2, cursor=cursor)).json()
        seen += [each["name"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["B", "C", "_a", "a9", "b"]
    assert fields_of(await api.get("/v1/secrets", cursor="IjAi")) == ["cursor"]
    assert fields_of(await api.get("/v1/secrets", q="x")) == ["q"]


async def test_a_secret_is_deleted_once(api: Api) -> None:
    await api.put("/v1/secrets/A", {"value": "v"})
    assert (await api.delete("/v1/secrets/A")).status_code == 204
    problem(await api.delete("/v1/secrets/A"), 404)
    problem(await api.delete("/v1/secrets/a%00b"), 404)
    assert (await api.get("/v1/secrets")).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"value": ""}, 422),
        ({"value": None}, 422),
        ({"value": [CANARY]}, 422),
        ({"value": CANARY * 4_000}, 422),
        ({"value": "v", "name": CANARY}, 422),
        ([CANARY], 400),
    ],
)
async def test_what_cannot_be_a_value_is_refused_and_not_repeated(
    api: Api, body: Any, status: int
) -> None:
    answer = await api.put("/v1/secrets/A", body)
    problem(answer, status)
    assert CANARY not in answer.text
    assert (await api.get("/v1/secrets")).json()["items"] == []


@pytest.mark.parametrize("name", ["9a", "a-b", "a.b", "%C3%A9", "a" * 65, "a%00"])
async def test_a_name_is_one_that_fits_a_placeholder(api: Api, name: str) -> None:
    answer = await api.put(f"/v1/secrets/{name}", {"value": CANARY})
    assert fields_of(answer) == ["name"]
    assert CANARY not in answer.text


async def test_others_neither_see_nor_touch_them(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10: the same answer as for a secret that nobody has."""
    stranger = await caller(engine, http, "admin", tenant="another")
    await api.put("/v1/secrets/A", {"value": "v"})
    theirs, nobodys = await stranger.delete("/v1/secrets/A"), await stranger.delete("/v1/secrets/B")
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content == nobodys.content
    assert (await stranger.get("/v1/secrets")).json()["items"] == []
    assert (await stranger.put("/v1/secrets/A", {"value": "w"})).json()["version"] == 1
    assert (await api.get("/v1/secrets")).json()["items"][0]["version"] == 1


async def test_a_target_that_completes_its_work_later_cannot_leave_them_behind(api: Api) -> None:
    """S8: what it reports is recorded without the secrets that it was sent."""
    await api.put("/v1/secrets/A", {"value": CANARY})
    fields = {"headers": {"X-Key": "${secrets.A}"}, "max_attempts": 1}
    encoded = base64.b64encode(CANARY.encode()).decode()
    reports: dict[str, dict[str, Any]] = {
        "complete": {"result": {"you sent": [CANARY, encoded]}},
        "fail": {"error": f"bad key {CANARY}"},
    }
    for verb, report in reports.items():
        firing_id, token = await left(api, await api.created(key=verb, **fields))
        body = {"token": token, **report}
        answer = await api.http.post(f"/v1/firings/{firing_id}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        seen = (await api.get(f"/v1/firings/{firing_id}")).text
        seen += (await api.get(f"/v1/firings/{firing_id}/attempts")).text
        assert "…" in seen
        assert "CANARY" not in seen
        assert encoded[:12] not in seen


async def test_without_a_ring_the_answer_says_what_to_set(engine: Engine) -> None:
    bare = replace(engine, vault=Vault(Rings(None)))
    transport = httpx.ASGITransport(create(bare))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as client:
        api = await caller(bare, client, "admin")
        for answer in (
            await api.put("/v1/secrets/A", {"value": CANARY}),
            await api.get("/v1/signing-secret", host="example.com"),
            await api.post("/v1/signing-secret/rotate"),
        ):
            assert "ROTA_SECRET_KEYS" in problem(answer, 503)["detail"]
            assert CANARY not in answer.text
        assert (await api.get("/v1/secrets")).json()["items"] == []


def _unknown(answer: dict[str, Any]) -> list[str]:
    return [each for each in answer.get("warnings", []) if "There is no secret" in each]


async def test_a_schedule_that_names_unknown_secrets_is_made_with_a_warning_of_each(
    api: Api,
) -> None:
    await api.put("/v1/secrets/KNOWN", {"value": "x"})
    made = await api.created(
        target_url="https://acme.example/${secrets.IN_URL}",
        headers={"Authorization": "Bearer ${secrets.IN_HEADER}", "X-Known": "${secrets.KNOWN}"},
        payload={"deep": ["${secrets.IN_PAYLOAD}"]},
        description="never filled: ${secrets.IN_TEXT}",
    )
    named = [each.split()[4].rstrip(":") for each in _unknown(made)]
    assert named == ["IN_HEADER", "IN_PAYLOAD", "IN_URL"]
    assert "`rota secret set IN_URL`" in made["warnings"][-1]
    path = f"/v1/schedules/{made['id']}"
    assert _unknown((await api.get(path)).json()) == _unknown(made)
    for name in named:
        await api.put(f"/v1/secrets/{name}", {"value": "x"})
    assert _unknown((await api.get(path)).json()) == []


async def test_an_edit_a_put_and_a_bulk_warn_of_unknown_secrets_too(api: Api) -> None:
    made = await api.created()
    assert _unknown(made) == []
    edited = await api.patch(f"/v1/schedules/{made['id']}", {"payload": "${secrets.MINE}"})
    assert len(_unknown(edited.json())) == 1
    whole = {"name": "x", "interval": "1h", "target_url": "https://x.example/${secrets.MINE}"}
    assert len(_unknown((await api.put("/v1/schedules/by-key/x", whole)).json())) == 1
    bulk = (await api.post("/v1/schedules/bulk", [whole, whole | {"name": "y"}])).json()
    assert [len(_unknown(each)) for each in bulk["items"]] == [1, 1]
    steps = [{"name": "one", "target_url": "https://x.example", "body": "${secrets.MINE}"}]
    saga = {"name": "saga", "interval": "1h", "steps": steps}
    assert len(_unknown((await api.post("/v1/schedules", saga)).json())) == 1


async def test_the_secret_of_another_tenant_is_unknown(api: Api, engine: Engine) -> None:
    await api.put("/v1/secrets/MINE", {"value": "x"})
    other = await caller(engine, api.http, "admin", tenant="other")
    assert _unknown(await api.created(payload="${secrets.MINE}")) == []
    assert len(_unknown(await other.created(payload="${secrets.MINE}"))) == 1
