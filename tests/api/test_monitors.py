"""Monitors over the API: made, pinged with a key or by their own URL, explained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.db.secrets_kit import vault

from rota.watch.monitor_events import MonitorFailed, MonitorRecovered

if TYPE_CHECKING:
    from rota.api.engine import Engine
    from rota.events import Event

MONITOR: dict[str, Any] = {
    "name": "backup",
    "monitor": {"expect": "every day at 3am", "grace": "1h"},
}


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    """With a key ring, which ping URLs are made with."""
    return replace(engine, vault=vault(), public_url="https://rota.example/")


async def made(api: Api, **fields: Any) -> dict[str, Any]:
    answer = await api.post("/v1/schedules", MONITOR | fields)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_monitor_needs_no_target_and_refuses_one(api: Api) -> None:
    monitor = await made(api)
    assert monitor["monitor"] == {"expect": "every day at 3am", "grace": "1h"}
    assert (monitor["status"], monitor["monitor_state"]) == ("active", "waiting")
    assert (monitor["next_fire_at"], monitor["target_url"]) == (None, None)
    assert monitor["expected_at"].endswith("T03:00:00Z")
    answer = await api.post("/v1/schedules", MONITOR | {"target_url": "https://example.com"})
    problem(answer, 422)
    assert fields_of(answer) == ["target_url"]
    upcoming = (await api.get(f"/v1/schedules/{monitor['id']}/next", count=1)).json()
    assert upcoming["slots"][0]["utc"] == monitor["expected_at"]
    refused = problem(await api.post(f"/v1/schedules/{monitor['id']}/trigger"), 409)
    assert "ping it instead" in refused["detail"]
    listed = (await api.get("/v1/schedules")).json()["items"]
    assert [each["monitor_state"] for each in listed] == ["waiting"]


async def test_a_ping_counts_once_and_is_explained(api: Api, engine: Engine) -> None:
    heard: list[Event] = []
    engine.bus.subscribe(MonitorFailed, heard.append)
    engine.bus.subscribe(MonitorRecovered, heard.append)
    monitor = await made(api)
    path = f"/v1/schedules/{monitor['id']}"
    failed = await api.post(f"{path}/ping", {"status": "failed", "note": "disk full"})
    assert failed.status_code == 200, failed.text
    assert failed.json()["monitor_state"] == "down"
    pinged = (await api.post(f"{path}/ping")).json()
    assert pinged["monitor_state"] == "up"
    assert [type(event) for event in heard] == [MonitorFailed, MonitorRecovered]
    shown = (await api.get(path)).json()
    assert shown["monitor_state"] == "up"
    assert shown["last_ping_at"] is not None
    if failed.json()["counted"]:
        why = (await api.get(f"{path}/why", at=failed.json()["slot"])).json()
        assert (why["outcome"], "disk full" in why["explanation"]) == ("dead", True)
        assert [each["reason"] for each in (await api.get(f"{path}/firings")).json()["items"]] == [
            "disk full"
        ]
        replayed = await api.post(f"/v1/firings/{why['firing']['id']}/replay")
        problem(replayed, 409)


async def test_a_ping_says_what_is_wrong_with_it(api: Api) -> None:
    monitor, plain = await made(api), await api.created()
    path = f"/v1/schedules/{monitor['id']}/ping"
    answer = await api.post(path, {"status": "meh"})
    problem(answer, 422)
    assert fields_of(answer) == ["status"]
    problem(await api.post(path, {"note": "x" * 1_001}), 422)
    problem(await api.post(path, {"note": "\0"}), 422)
    refused = problem(await api.post(f"/v1/schedules/{plain['id']}/ping"), 409)
    assert "only a monitor waits" in refused["detail"]


async def test_its_own_url_pings_it_without_a_key(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    monitor = await made(api)
    url = monitor["ping_url"]
    assert url.startswith("https://rota.example/ping/")
    path = httpx.URL(url).path
    assert len(path.removeprefix("/ping/")) == 43
    for answer in (await http.get(path), await http.post(path, json={"note": "cron"})):
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    shown = (await api.get(f"/v1/schedules/{monitor['id']}")).json()
    assert (shown["monitor_state"], shown["ping_url"]) == ("up", url)
    down = await http.post(path, json={"status": "failed"})
    assert down.status_code == 200
    assert (await api.get(f"/v1/schedules/{monitor['id']}")).json()["monitor_state"] == "down"
    # Whoever may only read does not get it.
    reader = await caller(engine, http, "read")
    assert (await reader.get(f"/v1/schedules/{monitor['id']}")).json()["ping_url"] is None
    await api.delete(f"/v1/schedules/{monitor['id']}")
    problem(await http.get(path), 404)


async def test_every_answer_about_a_monitor_has_its_url(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    monitor = await made(api)
    url, path = monitor["ping_url"], f"/v1/schedules/{monitor['id']}"
    assert (await api.patch(path, {"description": "nightly"})).json()["ping_url"] == url
    by_key = f"/v1/schedules/by-key/{monitor['key']}"
    again = await api.put(by_key, MONITOR | {"description": "weekly"})
    assert (again.status_code, again.json()["ping_url"]) == (200, url)
    new = (await api.put("/v1/schedules/by-key/other", MONITOR | {"name": "other"})).json()
    shown = (await api.get(f"/v1/schedules/{new['id']}")).json()
    assert new["ping_url"] == shown["ping_url"] is not None
    called = {"name": "call", "interval": "1h", "target_url": "https://example.com"}
    plain = (await api.put("/v1/schedules/by-key/call", called)).json()
    changed = await api.patch(f"/v1/schedules/{plain['id']}", {"name": "calls"})
    assert plain["ping_url"] is changed.json()["ping_url"] is None


@pytest.mark.parametrize("token", ["x", "A" * 43, "%00", "a" * 500, "ä" * 43])
async def test_a_token_that_is_none_finds_nothing(http: httpx.AsyncClient, token: str) -> None:
    problem(await http.get(f"/ping/{token}"), 404)


async def test_a_monitor_is_its_tenants_alone(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    """TN2: what others own looks like nothing at all."""
    monitor = await made(api)
    other = await caller(engine, http, "write", tenant="acme")
    problem(await other.post(f"/v1/schedules/{monitor['id']}/ping"), 404)
    assert (await api.get(f"/v1/schedules/{monitor['id']}")).json()["last_ping_at"] is None


async def test_a_key_makes_a_ping_that_is_sent_again_one(api: Api) -> None:
    monitor = await made(api)
    path = f"/v1/schedules/{monitor['id']}/ping"
    headers = api.headers | {"Idempotency-Key": "once"}
    first = await api.http.post(path, headers=headers)
    again = await api.http.post(path, headers=headers)
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_a_ping_url_is_not_kept_in_the_open_for_a_request_that_may_come_again(
    api: Api, engine: Engine
) -> None:
    """Whoever reads the answers that are kept for Idempotency-Key cannot ping (S7)."""
    headers = api.headers | {"Idempotency-Key": "one"}
    first = await api.http.post("/v1/schedules", json=MONITOR, headers=headers)
    again = await api.http.post("/v1/schedules", json=MONITOR, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true"
    token = first.json()["ping_url"].rpartition("/")[2]
    assert again.json()["ping_url"].endswith(token)
    async with engine.db.transaction() as tx:
        kept = await tx.fetch_value("SELECT content FROM answers WHERE key = 'one'")
    assert kept
    assert token.encode() not in kept
