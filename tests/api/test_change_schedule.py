"""PATCH and DELETE /v1/schedules/{id}, PUT /v1/schedules/by-key/{key}."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from tests.api.conftest import Api, fields_of, made_of, problem

NOBODYS = "/v1/schedules/sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def _at(schedule: dict[str, Any]) -> str:
    return f"/v1/schedules/{schedule['id']}"


async def test_an_edit_changes_what_is_given_and_nothing_else(api: Api) -> None:
    made = await api.created()
    answer = await api.patch(_at(made), {"payload": {"team": "dev"}, "priority": 7})
    assert answer.status_code == 200
    changed = answer.json()
    assert (changed["payload"], changed["priority"], changed["version"]) == ({"team": "dev"}, 7, 2)
    moved = {"payload", "priority", "version", "updated_at"}
    assert {name for name in made if made[name] != changed[name]} == moved


async def test_a_new_trigger_takes_the_place_of_the_old_one(api: Api) -> None:
    made = await api.created()
    changed = (await api.patch(_at(made), {"interval": "10m"})).json()
    assert (changed["cron_expr"], changed["interval"]) == (None, "10m")
    assert changed["next_fire_at"] != made["next_fire_at"]


async def test_null_takes_a_field_back_to_its_default(api: Api) -> None:
    made = await api.created(priority=9, description="x")
    changed = (await api.patch(_at(made), {"priority": None, "description": None})).json()
    assert (changed["priority"], changed["description"]) == (5, "")


async def test_enabled_pauses_and_resumes(api: Api) -> None:
    made = await api.created()
    paused = (await api.patch(_at(made), {"enabled": False})).json()
    assert (paused["status"], paused["enabled"], paused["next_fire_at"]) == ("paused", False, None)
    resumed = (await api.patch(_at(made), {"enabled": True})).json()
    assert (resumed["status"], resumed["enabled"]) == ("active", True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cron_expr": "nonsense"}, "cron_expr"),
        ({"timezone": "EST"}, "timezone"),
        ({"colour": "red"}, "colour"),
        ({"id": "sch_x"}, "id"),
        ({"target_url": None}, "target_url"),
        ({"key": "another"}, "key"),
        ({"interval": "1s"}, "interval"),
    ],
)
async def test_a_bad_edit_is_refused_by_name_and_changes_nothing(
    api: Api, changes: dict[str, Any], field: str
) -> None:
    made = await api.created()
    answer = await api.patch(_at(made), changes)
    problem(answer, 422)
    assert field in fields_of(answer)
    again = (await api.get(_at(made))).json()
    assert again == {name: made[name] for name in again}


async def test_a_deleted_schedule_is_gone(api: Api) -> None:
    made = await api.created()
    answer = await api.delete(_at(made))
    assert (answer.status_code, answer.content) == (204, b"")
    problem(await api.get(_at(made)), 404)
    problem(await api.delete(_at(made)), 404)


async def test_what_is_not_there_cannot_be_changed(api: Api) -> None:
    problem(await api.patch(NOBODYS, {"priority": 1}), 404)
    problem(await api.delete(NOBODYS), 404)


async def test_putting_creates_then_keeps_then_changes(api: Api) -> None:
    path = "/v1/schedules/by-key/mine"
    first = await api.put(path, made_of())
    assert first.status_code == 201
    second = await api.put(path, made_of())
    assert (second.status_code, second.json()["version"]) == (200, 1)
    third = await api.put(path, made_of(priority=1))
    assert (third.status_code, third.json()["version"]) == (200, 2)
    assert {each.json()["id"] for each in (first, second, third)} == {first.json()["id"]}
    assert await api.count() == 1


@pytest.mark.parametrize("key", ["a/b", "x::cron:*/5 * * * *:UTC", "ñ ?&=#%", "a//b/", "%2F"])
async def test_a_key_may_hold_anything_when_it_is_quoted(api: Api, key: str) -> None:
    answer = await api.put(f"/v1/schedules/by-key/{quote(key, safe='')}", made_of())
    assert answer.status_code == 201, answer.text
    assert answer.json()["key"] == key


async def test_a_bad_put_is_refused_and_stores_nothing(api: Api) -> None:
    answer = await api.put("/v1/schedules/by-key/mine", made_of(timezone="EST"))
    problem(answer, 422)
    assert fields_of(answer) == ["timezone"]
    answer = await api.put("/v1/schedules/by-key/mine", made_of(key="yours"))
    problem(answer, 422)
    assert fields_of(answer) == ["key"]
    assert await api.count() == 0
