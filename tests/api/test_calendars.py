"""`/v1/calendars`, and the calendars of schedules and previews."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.api.conftest import Api, caller, fields_of, problem

from rota.clock import SystemClock

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

ONE = "/v1/calendars/spain"


async def test_a_calendar_is_made_changed_listed_and_deleted(api: Api) -> None:
    made = await api.put(ONE, {"country": "spain", "subdivision": "Madrid", "weekdays": ["sun"]})
    assert made.status_code == 201, made.text
    body = made.json()
    assert (body["name"], body["country"], body["subdivision"]) == ("spain", "ES", "MD")
    assert (body["weekdays"], body["schedules"], body["version"]) == (["sunday"], 0, 1)
    assert body["holidays_version"]
    assert len(body["upcoming"]) == 20
    assert body["until_year"] == SystemClock().now().year + 10
    changed = await api.put(ONE, {"dates": ["2031-08-15"], "description": "Assumption"})
    assert changed.status_code == 200
    assert changed.json()["upcoming"] == [{"date": "2031-08-15", "name": None}]
    assert (changed.json()["country"], changed.json()["version"]) == (None, 2)
    await api.put("/v1/calendars/office", {"weekdays": ["sat"]})
    page = (await api.get("/v1/calendars", limit=1)).json()
    assert [each["name"] for each in page["items"]] == ["office"]
    rest = (await api.get("/v1/calendars", cursor=page["next_cursor"])).json()
    assert [each["name"] for each in rest["items"]] == ["spain"]
    shown = (await api.get(ONE)).json()
    assert {**shown, "rearmed": 0, "more": False} == changed.json()
    assert (await api.delete(ONE)).status_code == 204
    problem(await api.get(ONE), 404)
    problem(await api.delete(ONE), 404)


async def test_what_is_wrong_with_a_calendar_is_said_field_by_field(api: Api) -> None:
    answer = await api.put(ONE, {"country": "Spian", "dates": ["tomorrow"], "wekdays": []})
    body = problem(answer, 422)
    assert fields_of(answer) == ["wekdays", "country", "dates"]
    assert "Did you mean ES" in body["detail"]
    problem(await api.put("/v1/calendars/a%20b", {"weekdays": ["sun"]}), 422)
    problem(await api.get("/v1/calendars", cursor="nonsense"), 422)


async def test_schedules_are_armed_by_it_and_it_cannot_go_while_they_have_it(api: Api) -> None:
    now = SystemClock().now()
    out = [(now + timedelta(days=each)).date().isoformat() for each in range(3)]
    await api.put(ONE, {"dates": out})
    made = await api.created(cron_expr="0 12 * * *", timezone="UTC", calendar="spain")
    assert made["calendar"] == "spain"
    assert made["next_fire_at"][:10] == (now + timedelta(days=3)).date().isoformat()
    refused = problem(await api.delete(ONE), 409)
    assert "1 schedule has" in refused["detail"]
    saved = (await api.put(ONE, {"dates": [*out, made["next_fire_at"][:10]]})).json()
    assert (saved["rearmed"], saved["schedules"], saved["more"]) == (1, 1, False)
    after = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert after["next_fire_at"][:10] == (now + timedelta(days=4)).date().isoformat()
    assert after["version"] == 2
    upcoming = (await api.get(f"/v1/schedules/{made['id']}/next", count=1)).json()
    assert upcoming["slots"][0]["note"].startswith("left out: ")
    assert upcoming["explanation"].endswith("not on dates that its calendar leaves out")
    why = (await api.get(f"/v1/schedules/{made['id']}/why", at=f"{out[2]}T12:00:00")).json()
    assert why["outcome"] == "not_a_slot"
    assert f"its calendar spain leaves out {out[2]}" in why["explanation"]
    unknown = await api.post("/v1/schedules", {**made_of_nothing(), "calendar": "spian"})
    problem(unknown, 422)
    assert fields_of(unknown) == ["calendar"]
    freed = await api.patch(f"/v1/schedules/{made['id']}", {"calendar": None})
    assert freed.json()["calendar"] is None
    assert (await api.delete(ONE)).status_code == 204


def made_of_nothing() -> dict[str, str]:
    return {"name": "x", "cron_expr": "0 9 * * *", "target_url": "https://example.com"}


async def test_a_preview_leaves_out_what_a_calendar_does(api: Api) -> None:
    await api.put(ONE, {"country": "ES"})
    asked = {
        "cron_expr": "0 9 * * *",
        "calendar": "spain",
        "after": "2026-12-24T10:00:00Z",
        "count": 2,
    }
    body = (await api.post("/v1/preview", asked)).json()
    assert [slot["utc"] for slot in body["slots"]] == [
        "2026-12-26T09:00:00Z",
        "2026-12-27T09:00:00Z",
    ]
    assert body["slots"][0]["note"] == "left out: 2026-12-25 (Christmas Day)"
    answer = await api.post("/v1/preview", {**asked, "calendar": "nope"})
    problem(answer, 422)
    assert fields_of(answer) == ["calendar"]


async def test_a_calendar_is_its_tenants_alone(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    """TN2: what others own looks like nothing at all."""
    await api.put(ONE, {"weekdays": ["sunday"]})
    other = await caller(engine, http, "write", "read", tenant="acme")
    problem(await other.get(ONE), 404)
    assert (await other.get("/v1/calendars")).json()["items"] == []
    problem(await other.delete(ONE), 404)
    taken = await other.post("/v1/schedules", {**made_of_nothing(), "calendar": "spain"})
    problem(taken, 422)
    reader = await caller(engine, http, "read")
    assert (await reader.get(ONE)).status_code == 200
    problem(await reader.put(ONE, {"weekdays": ["sunday"]}), 403)
