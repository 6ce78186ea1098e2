"""POST /v1/schedules/{id}/pause, /resume and /trigger."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, problem

NOBODYS = "/v1/schedules/sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def _at(schedule: dict[str, Any], verb: str) -> str:
    return f"/v1/schedules/{schedule['id']}/{verb}"


async def test_a_paused_schedule_has_no_next_slot_until_it_is_resumed(api: Api) -> None:
    made = await api.created()
    paused = await api.post(_at(made, "pause"))
    assert paused.status_code == 200
    assert (paused.json()["status"], paused.json()["next_fire_at"]) == ("paused", None)
    assert (await api.post(_at(made, "pause"))).json()["status"] == "paused"
    resumed = await api.post(_at(made, "resume"))
    assert resumed.status_code == 200
    assert resumed.json()["status"] == "active"
    assert resumed.json()["next_fire_at"] == made["next_fire_at"]


async def test_a_pause_has_a_reason_and_an_end_for_whoever_gives_them(api: Api) -> None:
    made = await api.created()
    given = {"reason": "the database moves", "until": "2199-01-01T00:00:00Z"}
    paused = (await api.post(_at(made, "pause"), given)).json()
    assert (paused["status"], paused["status_reason"]) == ("paused", given["reason"])
    assert paused["paused_until"] == given["until"]
    assert (await api.post(_at(made, "resume"))).json()["paused_until"] is None
    for wrong, field in (
        ({"reason": ""}, "reason"),
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "2199-01-01T00:00:00"}, "until"),
        ({"tag": "x"}, "tag"),
    ):
        answer = await api.post(_at(made, "pause"), wrong)
        problem(answer, 422)
        assert fields_of(answer) == [field]
    assert (await api.get(f"/v1/schedules/{made['id']}")).json()["status"] == "active"


async def test_a_run_that_is_asked_for_is_accepted_with_its_firing(api: Api) -> None:
    made = await api.created()
    answer = await api.post(_at(made, "trigger"))
    assert answer.status_code == 202
    firing = answer.json()
    assert firing["id"].startswith("fir_")
    assert firing["schedule_id"] == made["id"]
    assert (firing["status"], firing["triggered_by"]) == ("waiting", "api")
    shown = (await api.get(f"/v1/firings/{firing['id']}")).json()
    assert shown == firing


async def test_its_payload_may_be_another(api: Api) -> None:
    made = await api.created()
    answer = await api.post(_at(made, "trigger"), {"payload": {"team": "dev"}})
    assert answer.status_code == 202
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT payload::text FROM queue") == '{"team": "dev"}'


async def test_while_one_waits_another_is_skipped_and_says_why(api: Api) -> None:
    made = await api.created()
    await api.post(_at(made, "trigger"))
    second = (await api.post(_at(made, "trigger"))).json()
    assert (second["status"], second["reason"]) == ("skipped", "overlap")


async def test_an_unknown_field_of_a_run_is_refused(api: Api) -> None:
    made = await api.created()
    answer = await api.post(_at(made, "trigger"), {"paylod": 1})
    problem(answer, 422)
    assert fields_of(answer) == ["paylod"]


@pytest.mark.parametrize("verb", ["pause", "resume", "trigger"])
async def test_what_is_not_there_cannot_be_controlled(api: Api, verb: str) -> None:
    problem(await api.post(f"{NOBODYS}/{verb}"), 404)
    answer = await api.post(f"/v1/schedules/nonsense/{verb}")
    problem(answer, 422)
    assert fields_of(answer) == ["id"]
