"""GET /v1/schedules/{id}."""

from __future__ import annotations

import pytest
from tests.api.conftest import Api, fields_of, problem

NOBODYS = "sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"


async def test_it_shows_what_it_was_made_of_and_where_it_stands(api: Api) -> None:
    made = await api.created()
    shown = (await api.get(f"/v1/schedules/{made['id']}")).json()
    for name in ("id", "key", "status", "next_fire_at", "version", "created_at", "updated_at"):
        assert shown[name] == made[name]
    assert (shown["last_fire_at"], shown["last_status"]) == (None, None)


async def test_one_that_is_not_there_is_not_found(api: Api) -> None:
    problem(await api.get(f"/v1/schedules/{NOBODYS}"), 404)


@pytest.mark.parametrize(
    "text", ["x", "sch_x", "fir_01ARZ3NDEKTSV4RRFFQ69G5FAV", "sch_" + "é" * 26]
)
async def test_what_is_no_id_is_refused_by_name(api: Api, text: str) -> None:
    answer = await api.get(f"/v1/schedules/{text}")
    problem(answer, 422)
    assert fields_of(answer) == ["id"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/schedule", 404),
        ("PUT", "/v1/schedules", 405),
        ("DELETE", "/healthz", 405),
        ("GET", "/v1/preview", 405),
    ],
)
async def test_an_address_or_method_that_is_not_there_is_a_problem_too(
    api: Api, method: str, path: str, status: int
) -> None:
    problem(await api.http.request(method, path, headers=api.headers), status)
