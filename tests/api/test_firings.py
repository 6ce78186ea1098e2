"""Firings and attempts, and why a slot went as it did."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, problem

NOBODYS = "sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"
FIRING = {
    *("id", "schedule_id", "scheduled_for", "status", "reason", "attempt", "triggered_by"),
    *("catch_up", "started_at", "finished_at", "duration_ms", "result_code", "result_excerpt"),
}


def _at(schedule: dict[str, Any], what: str) -> str:
    return f"/v1/schedules/{schedule['id']}/{what}"


async def test_firings_are_listed_page_by_page_live_ones_included(api: Api) -> None:
    made = await api.created(overlap_policy="queue")
    asked = [(await api.post(_at(made, "trigger"))).json() for _ in range(3)]
    first = (await api.get(_at(made, "firings"), limit=2)).json()
    second = (await api.get(_at(made, "firings"), limit=2, cursor=first["next_cursor"])).json()
    found = [*first["items"], *second["items"]]
    assert [each["id"] for each in found] == [each["id"] for each in reversed(asked)]
    assert second["next_cursor"] is None
    assert set(found[0]) >= FIRING


async def test_they_can_be_filtered_by_status(api: Api) -> None:
    made = await api.created()
    await api.post(_at(made, "trigger"))
    await api.post(_at(made, "trigger"))
    for status in ("waiting", "skipped"):
        items = (await api.get(_at(made, "firings"), status=status)).json()["items"]
        assert [each["status"] for each in items] == [status]
    answer = await api.get(_at(made, "firings"), status="failed")
    problem(answer, 422)
    assert fields_of(answer) == ["status"]


async def test_a_firing_without_tries_has_no_attempts(api: Api) -> None:
    made = await api.created()
    firing = (await api.post(_at(made, "trigger"))).json()
    answer = await api.get(f"/v1/firings/{firing['id']}/attempts")
    assert answer.json() == {"items": [], "next_cursor": None}


async def test_what_is_not_there_is_not_found(api: Api) -> None:
    problem(await api.get(f"/v1/schedules/{NOBODYS}/firings"), 404)
    nobodys = NOBODYS.replace("sch_", "fir_")
    problem(await api.get(f"/v1/firings/{nobodys}"), 404)
    problem(await api.get(f"/v1/firings/{nobodys}/attempts"), 404)
    answer = await api.get(f"/v1/firings/{NOBODYS}")
    problem(answer, 422)
    assert fields_of(answer) == ["id"]


async def test_why_says_what_will_be_or_that_there_is_no_such_slot(api: Api) -> None:
    made = await api.created(timezone="UTC", cron_expr="0 9 * * *")
    coming = (await api.get(_at(made, "why"), at=made["next_fire_at"])).json()
    assert coming["outcome"] == "future"
    assert coming["explanation"]
    between = (await api.get(_at(made, "why"), at="2090-01-01T10:00:00Z")).json()
    assert between["outcome"] == "not_a_slot"
    assert between["next_slot"] == "2090-01-02T09:00:00Z"


async def test_the_time_is_read_on_the_wall_clock_of_the_schedule(api: Api) -> None:
    made = await api.created(timezone="America/New_York", cron_expr="0 9 * * *")
    answer = (await api.get(_at(made, "why"), at="2090-07-01T09:00")).json()
    assert answer["at"] == "2090-07-01T13:00:00Z"
    assert answer["outcome"] == "future"


async def test_why_at_a_local_time_that_exists_twice_answers_for_both(api: Api) -> None:
    made = await api.created(timezone="America/New_York", cron_expr="30 1 * * *")
    answer = (await api.get(_at(made, "why"), at="2090-11-05 01:30")).json()
    assert (answer["at"], answer["outcome"]) == ("2090-11-05T05:30:00Z", "future")
    assert "exists twice" in answer["note"]
    second = answer["second"]
    assert (second["at"], second["outcome"]) == ("2090-11-05T06:30:00Z", "not_a_slot")
    exact = (await api.get(_at(made, "why"), at="2090-11-05 01:30-05:00")).json()
    assert (exact["at"], exact["note"], exact["second"]) == (second["at"], None, None)


async def test_why_at_a_local_time_that_does_not_exist_says_which_instant_it_is_about(
    api: Api,
) -> None:
    made = await api.created(timezone="America/New_York", cron_expr="30 2 * * *")
    answer = (await api.get(_at(made, "why"), at="2090-03-12 02:30")).json()
    assert (answer["at"], answer["outcome"]) == ("2090-03-12T07:00:00Z", "future")
    assert "does not exist" in answer["note"]
    assert "2090-03-12T03:00:00-04:00" in answer["note"]
    assert answer["second"] is None


async def test_a_second_names_the_slot_within_it(api: Api) -> None:
    made = await api.created(cron_expr=None, interval="90s")
    second = f"{made['next_fire_at'][:19]}Z"
    answer = (await api.get(_at(made, "why"), at=second)).json()
    assert (answer["outcome"], answer["at"]) == ("future", made["next_fire_at"])


@pytest.mark.parametrize("query", [{}, {"at": "yesterday-ish"}, {"at": "2026-13-01"}])
async def test_a_time_that_is_none_is_refused(api: Api, query: dict[str, str]) -> None:
    made = await api.created()
    answer = await api.get(_at(made, "why"), **query)
    problem(answer, 422)
    assert fields_of(answer) == ["at"]
