"""GET /v1/schedules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, fields_of, problem


async def _names(api: Api, **query: Any) -> list[str]:
    answer = await api.get("/v1/schedules", **query)
    assert answer.status_code == 200, answer.text
    return [item["name"] for item in answer.json()["items"]]


async def test_pages_follow_one_another_the_newest_first(api: Api) -> None:
    for number in range(5):
        await api.created(name=f"s{number}")
    first = (await api.get("/v1/schedules", limit=2)).json()
    second = (await api.get("/v1/schedules", limit=2, cursor=first["next_cursor"])).json()
    third = (await api.get("/v1/schedules", limit=2, cursor=second["next_cursor"])).json()
    pages = [first, second, third]
    names = [[item["name"] for item in page["items"]] for page in pages]
    assert sorted(name for page in names for name in page) == [f"s{number}" for number in range(5)]
    assert [len(page) for page in names] == [2, 2, 1]
    assert third["next_cursor"] is None


async def test_an_empty_list_is_an_answer(api: Api) -> None:
    assert (await api.get("/v1/schedules")).json() == {"items": [], "next_cursor": None}


async def test_filters_narrow_it(api: Api) -> None:
    await api.created(name="web", key="k/1 ::x", tags=["blue"], description="100%_sure")
    await api.created(name="task", target_url=None, job_type="resize", enabled=False)
    assert await _names(api, enabled="true") == ["web"]
    assert await _names(api, enabled="false") == ["task"]
    assert await _names(api, status="paused") == ["task"]
    assert await _names(api, job_type="resize") == ["task"]
    assert await _names(api, tag="blue") == ["web"]
    assert await _names(api, key="k/1 ::x") == ["web"]
    assert await _names(api, name="task") == ["task"]
    assert await _names(api, q="WEB") == ["web"]
    assert await _names(api, q="100%_s") == ["web"]
    assert await _names(api, q="%") == ["web"]
    assert await _names(api, q="nothing like it") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1001"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"status": "sleeping"}, "status"),
        ({"enabled": "maybe"}, "enabled"),
        ({"stauts": "active"}, "stauts"),
        ({"q": "a\0b"}, "q"),
    ],
)
async def test_a_parameter_that_cannot_be_taken_is_refused_by_name(
    api: Api, query: dict[str, str], field: str
) -> None:
    answer = await api.get("/v1/schedules", **query)
    problem(answer, 422)
    assert fields_of(answer) == [field]
