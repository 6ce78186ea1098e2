"""GET /v1/schedules/{id}/next and POST /v1/preview."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, problem


async def test_the_next_slots_of_a_schedule_come_with_zone_and_utc(api: Api) -> None:
    made = await api.created()
    body = (await api.get(f"/v1/schedules/{made['id']}/next", count=3)).json()
    assert body["timezone"] == "America/New_York"
    assert len(body["slots"]) == 3
    assert body["slots"][0]["utc"] == made["next_fire_at"]
    assert body["slots"][0]["local"][11:16] == "09:00"


async def test_a_clock_change_is_noted(api: Api) -> None:
    body = (
        await api.post(
            "/v1/preview",
            {
                "cron_expr": "30 2 * * *",
                "timezone": "America/New_York",
                "after": "2027-03-13T00:00",
                "count": 2,
            },
        )
    ).json()
    first, second = body["slots"]
    assert (first["utc"], first["note"]) == ("2027-03-13T07:30:00Z", None)
    assert "02:30 does not exist that day" in second["note"]


@pytest.mark.parametrize(
    "trigger",
    [
        {"when": "every weekday at 9am"},
        {"text": "every weekday at 9am"},
        {"interval": "5m"},
        {"interval": 300},
        {"run_at": "2090-01-01T00:00:00Z"},
        {"rrule": "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
    ],
)
async def test_every_kind_of_trigger_can_be_looked_at(api: Api, trigger: dict[str, Any]) -> None:
    answer = await api.post("/v1/preview", trigger)
    assert answer.status_code == 200, answer.text
    assert answer.json()["slots"]
    assert answer.json()["explanation"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "when"),
        ({"cron_expr": "0 9 * * *", "interval": "5m"}, "cron_expr"),
        ({"cron_expr": "nonsense"}, "cron_expr"),
        ({"cron_expr": "0 9 * * *", "timezone": "EST"}, "timezone"),
        ({"cron_expr": "0 9 * * *", "count": 0}, "count"),
        ({"cron_expr": "0 9 * * *", "count": "five"}, "count"),
        ({"cron_expr": "0 9 * * *", "after": "soon"}, "after"),
        ({"cron_expr": "0 9 * * *", "cron": 1}, "cron"),
        ({"cron_expr": 5}, "cron_expr"),
    ],
)
async def test_a_preview_that_cannot_be_made_says_why(
    api: Api, body: dict[str, Any], field: str
) -> None:
    answer = await api.post("/v1/preview", body)
    problem(answer, 422)
    assert fields_of(answer) == [field]


async def test_a_trigger_that_never_fires_again_is_said_to(api: Api) -> None:
    answer = await api.post("/v1/preview", {"run_at": "2001-01-01T00:00:00Z"})
    assert "No upcoming schedule found" in problem(answer, 422)["detail"]


async def test_with_jitter_every_slot_says_when_it_is_due(api: Api) -> None:
    made = await api.created(jitter_seconds=600)
    slots = (await api.get(f"/v1/schedules/{made['id']}/next", count=3)).json()["slots"]
    slot = datetime.fromisoformat(made["next_fire_at"])
    due = datetime.fromisoformat(made["next_due_at"])
    assert slot < due < slot + timedelta(seconds=600)
    assert (slots[0]["utc"], slots[0]["due_at"]) == (made["next_fire_at"], made["next_due_at"])
    later = [
        datetime.fromisoformat(each["due_at"]) - datetime.fromisoformat(each["utc"])
        for each in slots
    ]
    assert later == [due - slot] * 3
    shown = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert shown["next_due_at"] == made["next_due_at"]


async def test_without_jitter_a_slot_is_due_at_once_and_says_nothing_more(api: Api) -> None:
    made = await api.created()
    assert made["next_due_at"] == made["next_fire_at"]
    slots = (await api.get(f"/v1/schedules/{made['id']}/next", count=1)).json()["slots"]
    assert slots[0]["due_at"] is None


@pytest.mark.parametrize(
    "fields",
    [
        {"cron_expr": "every 5m"},
        {"interval": "0 9 * * *"},
        {"run_at": "tomorrow at noon"},
        {"rrule": "@daily"},
    ],
)
async def test_a_preview_refuses_what_creation_refuses_in_the_same_field(
    api: Api, fields: dict[str, Any]
) -> None:
    refused = problem(await api.post("/v1/preview", fields), 422)
    assert [each["field"] for each in refused["errors"]] == [*fields]
    whole = {"name": "x", "target_url": "https://x.example", **fields}
    problem(await api.post("/v1/schedules", whole), 422)


async def test_a_preview_of_the_signature_of_an_interval_counts_milliseconds(api: Api) -> None:
    for fields in ({"when": "every:60000"}, {"text": "every:60000"}, {"interval": "every:60000"}):
        body = (await api.post("/v1/preview", fields)).json()
        assert body["explanation"] == "every 1 minute"
