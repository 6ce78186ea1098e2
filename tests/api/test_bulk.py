"""POST /v1/schedules/bulk."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, made_of, problem

PATH = "/v1/schedules/bulk"


def _many(count: int) -> list[dict[str, Any]]:
    return [made_of(name=f"s{number}") for number in range(count)]


async def test_all_are_made_at_once(api: Api) -> None:
    answer = await api.post(PATH, {"items": _many(1000)})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["created"], body["failed"], len(body["items"])) == (1000, 0, 1000)
    assert await api.count() == 1000
    last = body["items"][-1]
    shown = (await api.get(f"/v1/schedules/{last['id']}")).json()
    assert shown["name"] == "s999"
    assert shown["next_fire_at"] == last["next_fire_at"]


async def test_a_bare_list_is_taken_too(api: Api) -> None:
    assert (await api.post(PATH, _many(2))).status_code == 201
    assert await api.count() == 2


async def test_one_that_is_wrong_keeps_all_of_them_out(api: Api) -> None:
    answer = await api.post(PATH, {"items": [*_many(3), made_of(timezone="EST")]})
    problem(answer, 422)
    assert fields_of(answer) == ["items[3].timezone"]
    assert await api.count() == 0


async def test_partial_makes_what_can_be_made_and_says_what_cannot(api: Api) -> None:
    await api.created(name="s1", key="taken")
    items = [made_of(name="a"), made_of(timezone="EST"), made_of(name="b", key="taken")]
    answer = await api.post(PATH, {"items": items}, partial="true")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["created"], body["failed"]) == (1, 2)
    good, wrong, twin = body["items"]
    assert good["id"].startswith("sch_")
    assert (wrong["index"], wrong["problem"]["status"]) == (1, 422)
    assert wrong["problem"]["errors"][0]["field"] == "timezone"
    assert (twin["index"], twin["problem"]["status"]) == (2, 409)
    assert await api.count() == 2


async def test_twins_in_one_request_are_a_conflict(api: Api) -> None:
    problem(await api.post(PATH, {"items": [made_of(), made_of()]}), 409)
    assert await api.count() == 0


BAD: list[tuple[Any, str]] = [
    ({}, "items"),
    ({"items": []}, "items"),
    ({"items": 3}, "items"),
    ({"items": [3]}, "items[0]"),
    ({"items": [{}], "more": 1}, "more"),
    (None, "items"),
    ("x", "items"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
async def test_what_is_not_a_list_of_schedules_is_refused(api: Api, body: Any, field: str) -> None:
    answer = await api.post(PATH, body)
    problem(answer, 422)
    assert fields_of(answer) == [field]


async def test_more_than_the_most_are_refused(api: Api) -> None:
    answer = await api.post(PATH, {"items": [{"name": "x"}] * 10_001})
    problem(answer, 422)
    assert await api.count() == 0


async def test_more_than_10_mb_is_too_large(api: Api) -> None:
    problem(await api.post(PATH, {"items": [made_of(payload="x" * 200_000)] * 60}), 413)
    assert await api.count() == 0


async def test_more_than_a_single_schedule_may_have_is_taken_here(api: Api) -> None:
    items = [made_of(name=f"s{n}", payload="x" * 200_000) for n in range(10)]
    assert (await api.post(PATH, {"items": items})).status_code == 201
