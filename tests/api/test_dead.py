"""`GET /v1/dead`: what failed for good (RT5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.api.conftest import Api, caller, fields_of, problem
from tests.api.outcomes import died, settled, triggered

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


async def test_dead_letters_are_listed_page_by_page_the_newest_first(api: Api) -> None:
    made = await api.created()
    dead = [await died(api, made) for _ in range(3)]
    await triggered(api, made)
    await settled(api, status="succeeded")
    first = (await api.get("/v1/dead", limit=2)).json()
    second = (await api.get("/v1/dead", limit=2, cursor=first["next_cursor"])).json()
    found = [*first["items"], *second["items"]]
    assert [each["id"] for each in found] == [each["id"] for each in reversed(dead)]
    assert second["next_cursor"] is None
    assert found[0]["reason"] == "HTTP 500, after 3 attempts"
    assert found[0]["replay_of"] is None


async def test_they_can_be_narrowed_to_a_schedule_and_to_a_time(api: Api) -> None:
    made, other = await api.created(name="a"), await api.created(name="b")
    first, second = await died(api, made), await died(api, made)
    await died(api, other)

    async def ids(**query: str) -> list[str]:
        answer = await api.get("/v1/dead", schedule_id=made["id"], **query)
        return [each["id"] for each in answer.json()["items"]]

    assert await ids() == [second["id"], first["id"]]
    assert await ids(since=second["scheduled_for"]) == [second["id"]]
    assert await ids(until=second["scheduled_for"]) == [first["id"]]
    assert await ids(since="2090-01-01") == []


async def test_what_is_no_filter_is_refused(api: Api) -> None:
    for query in ({"schedule_id": "fir_1"}, {"since": "lately"}, {"until": "13:00"}):
        answer = await api.get("/v1/dead", **query)
        problem(answer, 422)
        assert fields_of(answer) == list(query)


async def test_nobody_sees_anothers(engine: Engine, http: httpx.AsyncClient, api: Api) -> None:
    made = await api.created()
    await died(api, made)
    stranger = await caller(engine, http, "admin", tenant="another")
    for query in ({}, {"schedule_id": made["id"]}):
        assert (await stranger.get("/v1/dead", **query)).json()["items"] == []
