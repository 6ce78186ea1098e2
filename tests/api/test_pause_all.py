"""`POST /v1/pause` and `POST /v1/resume`: all of a tenant's schedules at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.api.outcomes import found, triggered

from rota.api import pausing
from rota.api.events import SchedulesPaused, SchedulesResumed
from rota.events import Recorder
from rota.schedules import bulk_pause

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


async def shown(api: Api, schedule: dict[str, Any]) -> dict[str, Any]:
    return (await api.get(f"/v1/schedules/{schedule['id']}")).json()


async def test_all_are_paused_with_a_reason_and_resumed(api: Api) -> None:
    """AP: what waits is skipped, exactly as when one is paused."""
    one, two = await api.created(name="one"), await api.created(name="two")
    firing = await triggered(api, one)
    paused = await api.post("/v1/pause", {"reason": "the database moves"})
    assert paused.json() == {"paused": 2, "renewed": 0, "more": False}
    for each in (one, two):
        now = await shown(api, each)
        assert (now["status"], now["status_reason"]) == ("paused", "the database moves")
        assert now["next_fire_at"] is None
    skipped = await found(api, firing["id"])
    assert (skipped["status"], skipped["reason"]) == ("skipped", "paused")
    assert (await api.post("/v1/pause", {"reason": "the database moves"})).json()["paused"] == 0
    resumed = await api.post("/v1/resume")
    assert resumed.json() == {"resumed": 2, "completed": 0, "more": False}
    now = await shown(api, one)
    assert (now["status"], now["status_reason"]) == ("active", None)
    assert now["next_fire_at"] is not None


async def test_without_a_reason_it_says_that_all_were_paused(api: Api) -> None:
    one = await api.created(tags=["nightly"])
    await api.post("/v1/pause")
    assert (await shown(api, one))["status_reason"] == "paused with all"
    again = await api.post("/v1/pause", {"tag": "nightly"})
    assert again.json() == {"paused": 0, "renewed": 1, "more": False}
    assert (await shown(api, one))["status_reason"] == "paused with all of tag nightly"


async def test_only_what_was_paused_together_is_resumed(api: Api) -> None:
    own, other = await api.created(name="own"), await api.created(name="other")
    await api.post(f"/v1/schedules/{own['id']}/pause")
    assert (await api.post("/v1/pause")).json()["paused"] == 1
    assert (await api.post("/v1/resume")).json()["resumed"] == 1
    assert (await shown(api, own))["status"] == "paused"
    assert (await shown(api, other))["status"] == "active"


async def test_a_tag_narrows_it(api: Api) -> None:
    red, blue = await api.created(name="r", tags=["red"]), await api.created(name="b")
    assert (await api.post("/v1/pause", {"tag": "red"})).json()["paused"] == 1
    assert (await shown(api, blue))["status"] == "active"
    assert (await api.post("/v1/resume", {"tag": "blue"})).json()["resumed"] == 0
    assert (await api.post("/v1/resume", {"tag": "red"})).json()["resumed"] == 1
    assert (await shown(api, red))["status"] == "active"


async def test_other_tenants_go_on(api: Api, engine: Engine, http: httpx.AsyncClient) -> None:
    """S11."""
    other = await caller(engine, http, "write", "read", tenant="another")
    theirs, ours = await other.created(name="theirs"), await api.created(name="ours")
    assert (await api.post("/v1/pause")).json()["paused"] == 1
    assert (await shown(other, theirs))["status"] == "active"
    assert (await other.post("/v1/resume")).json()["resumed"] == 0
    assert (await shown(api, ours))["status"] == "paused"


async def test_a_call_that_runs_out_of_time_says_that_there_is_more(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call again goes on, so a million schedules need no call that lasts minutes."""
    for at in range(5):
        await api.created(name=f"s{at}")
    monkeypatch.setattr(pausing, "BUDGET", timedelta())
    monkeypatch.setattr(
        bulk_pause.pause_some, "__kwdefaults__", {"after": bulk_pause.START, "limit": 2}
    )
    counts: list[int] = []
    while True:
        answer = (await api.post("/v1/pause", {"reason": "x"})).json()
        counts.append(answer["paused"])
        if not answer["more"]:
            break
    assert counts == [2, 2, 1, 0]
    assert {each["status"] for each in (await api.get("/v1/schedules")).json()["items"]} == {
        "paused"
    }


async def test_until_must_be_to_come(api: Api) -> None:
    schedule = await api.created()
    later = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 - as a caller's clock says
    for wrong in ("2020-01-01T00:00:00Z", later.replace(tzinfo=None).isoformat(), "soon", 5):
        answer = await api.post("/v1/pause", {"until": wrong})
        assert problem(answer, 422)
        assert fields_of(answer) == ["until"]
    assert (await shown(api, schedule))["status"] == "active"
    assert (await api.post("/v1/pause", {"until": later.isoformat()})).json()["paused"] == 1
    until = (await shown(api, schedule))["paused_until"]
    assert datetime.fromisoformat(until) == later
    await api.post("/v1/pause")
    assert (await shown(api, schedule))["paused_until"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"reason": "x" * 201}, "reason"),
        ({"tag": "\0"}, "tag"),
        ({"tags": ["a"]}, "tags"),
    ],
)
async def test_what_cannot_be_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    schedule = await api.created()
    answer = await api.post("/v1/pause", body)
    assert problem(answer, 422)
    assert fields_of(answer) == [field]
    assert (await shown(api, schedule))["status"] == "active"


async def test_reading_is_not_enough(api: Api, engine: Engine, http: httpx.AsyncClient) -> None:
    reader = await caller(engine, http, "read")
    await api.created()
    for path in ("/v1/pause", "/v1/resume"):
        assert problem(await reader.post(path), 403)
    assert await api.count() == 1


async def test_both_are_published(api: Api) -> None:
    recorder = Recorder(api.engine.bus)
    await api.created()
    await api.post("/v1/pause", {"tag": "none"})
    await api.post("/v1/resume")
    assert (await recorder.wait_for(SchedulesPaused)).tag == "none"
    assert (await recorder.wait_for(SchedulesResumed)).count == 0
