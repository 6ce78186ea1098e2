"""Idempotency-Key on POST: a retry is safe."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.api.conftest import Api, caller, fields_of, made_of, problem

from rota.tenants import answers

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


def _with(api: Api, key: str) -> Api:
    return Api(api.http, api.engine, {**api.headers, "Idempotency-Key": key})


async def test_the_same_request_is_carried_out_once_and_answered_twice(api: Api) -> None:
    first = await _with(api, "a").post("/v1/schedules", made_of())
    again = await _with(api, "a").post("/v1/schedules", made_of())
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert await api.count() == 1


async def test_many_at_the_same_time_are_one(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    at = f"/v1/schedules/{made['id']}/trigger"
    answered = await asyncio.gather(*(_with(api, "go").post(at) for _ in range(8)))
    assert {each.status_code for each in answered} == {202}
    assert len({each.json()["id"] for each in answered}) == 1
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 1


async def test_a_bulk_is_created_once(api: Api) -> None:
    body = {"items": [made_of(name=f"schedule-{number}") for number in range(50)]}
    first = await _with(api, "b").post("/v1/schedules/bulk", body)
    again = await _with(api, "b").post("/v1/schedules/bulk", body)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert await api.count() == 50


async def test_another_request_with_the_same_key_is_a_mistake(api: Api) -> None:
    await _with(api, "a").post("/v1/schedules", made_of())
    for path, body in (
        ("/v1/schedules", made_of(name="other")),
        ("/v1/schedules/bulk", {"items": [made_of()]}),
    ):
        answer = await _with(api, "a").post(path, body)
        problem(answer, 422)
        assert fields_of(answer) == ["Idempotency-Key"]
    assert await api.count() == 1


async def test_what_was_refused_may_be_corrected_under_the_same_key(api: Api) -> None:
    problem(await _with(api, "a").post("/v1/schedules", made_of(cron_expr="x")), 422)
    assert (await _with(api, "a").post("/v1/schedules", made_of())).status_code == 201


async def test_keys_of_tenants_have_nothing_to_do_with_each_other(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10."""
    theirs = await caller(engine, http, "write", tenant="acme")
    first = await _with(api, "a").post("/v1/schedules", made_of())
    other = await _with(theirs, "a").post("/v1/schedules", made_of(name="theirs"))
    assert other.status_code == 201
    assert other.json()["id"] != first.json()["id"]


@pytest.mark.parametrize("key", ["", "a" * 256, "a\tb"])
async def test_a_key_that_cannot_be_one_is_refused(api: Api, key: str) -> None:
    problem(await _with(api, key).post("/v1/schedules", made_of()), 400)
    assert await api.count() == 0


async def test_answers_are_kept_for_a_day(api: Api) -> None:
    await _with(api, "old").post("/v1/schedules", made_of())
    await _with(api, "new").post("/v1/schedules", made_of(name="other"))
    async with api.engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE answers SET created_at = now() - interval '25 hours' WHERE key = 'old'"
        )
        assert await answers.forget(tx) == 1
        assert await answers.forget(tx) == 0
        assert await tx.fetch_value("SELECT key FROM answers") == "new"
