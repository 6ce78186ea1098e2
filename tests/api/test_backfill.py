"""POST /v1/schedules/{id}/backfill."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, problem

NOBODYS = "/v1/schedules/sch_01ARZ3NDEKTSV4RRFFQ69G5FAV/backfill"
RANGE = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-04T00:00:00Z"}


async def _daily(api: Api, **fields: Any) -> str:
    made = await api.created(cron_expr="0 9 * * *", timezone="UTC", **fields)
    return f"/v1/schedules/{made['id']}/backfill"


async def test_the_slots_of_the_range_wait_in_their_order_and_say_what_they_are(api: Api) -> None:
    answer = await api.post(await _daily(api), RANGE)
    assert answer.status_code == 202, answer.text
    found = answer.json()
    assert found["created"] == 3
    assert [each["scheduled_for"] for each in found["items"]] == [
        f"2026-01-0{day}T09:00:00Z" for day in (1, 2, 3)
    ]
    assert [each["status"] for each in found["items"]] == ["waiting", "blocked", "blocked"]
    assert {(each["triggered_by"], each["catch_up"]) for each in found["items"]} == {
        ("backfill", True)
    }
    for each in found["items"]:
        shown = (await api.get(f"/v1/firings/{each['id']}")).json()
        assert (shown["status"], shown["scheduled_for"]) == (each["status"], each["scheduled_for"])


async def test_the_end_of_the_range_is_not_in_it(api: Api) -> None:
    at = await _daily(api)
    slots = {"from": "2026-01-01T09:00:00Z", "to": "2026-01-02T09:00:00Z"}
    found = (await api.post(at, slots)).json()
    assert [each["scheduled_for"] for each in found["items"]] == ["2026-01-01T09:00:00Z"]
    nothing = {"from": "2026-01-01T10:00:00Z", "to": "2026-01-02T09:00:00Z"}
    assert (await api.post(at, nothing)).json() == {"created": 0, "items": []}


async def test_what_lives_goes_first_even_where_overlap_is_skipped(api: Api) -> None:
    at = await _daily(api, overlap_policy="skip")
    await api.post(at.replace("backfill", "trigger"))
    found = (await api.post(at, RANGE)).json()
    assert [each["status"] for each in found["items"]] == ["blocked"] * 3


async def test_a_slot_may_be_filled_again(api: Api) -> None:
    at = await _daily(api)
    first = (await api.post(at, RANGE)).json()["items"]
    second = (await api.post(at, RANGE)).json()["items"]
    assert not {each["id"] for each in first} & {each["id"] for each in second}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "from"),
        ({"from": "2026-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2126-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-01-01T00:00:00", "to": "2026-01-02T00:00:00Z"}, "from"),
        ({"from": "2001-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}, "to"),
        ({"from": "yesterday", "to": "2026-01-02T00:00:00Z"}, "from"),
        ({"from": "0001-01-01T00:00:00Z", "to": "0001-01-02T00:00:00Z"}, "from"),
        ({"from": "0001-01-01T00:00:00+12:00", "to": "2026-01-02T00:00:00Z"}, "from"),
        ({**RANGE, "cap": 3}, "cap"),
    ],
)
async def test_a_range_that_cannot_be_filled_is_refused_and_fires_nothing(
    api: Api, body: dict[str, Any], field: str
) -> None:
    answer = await api.post(await _daily(api), body)
    problem(answer, 422)
    assert fields_of(answer) == [field]
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 0


async def test_another_schedule_is_not_found(api: Api) -> None:
    problem(await api.post(NOBODYS, RANGE), 404)
