"""The operator's policy is asked wherever a target is written (S1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.api.conftest import Api, caller, fields_of, made_of, problem

from rota.api.app import create
from rota.targets import TargetPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.api.engine import Engine

REFUSED = [
    *("http://127.0.0.1/", "http://2130706433/", "http://[::ffff:10.0.0.5]/", "http://localhost/"),
    *("http://169.254.169.254/latest/meta-data/", "https://evil.example/", "https://x.example:22/"),
]


@pytest.fixture
async def strict(engine: Engine) -> AsyncGenerator[Api]:
    policy = TargetPolicy.of(deny=["evil.example"], ports=[80, 443])
    closed = replace(engine, targets=policy)
    transport = httpx.ASGITransport(create(closed))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as client:
        yield await caller(closed, client, "admin")


@pytest.mark.parametrize("url", REFUSED)
async def test_a_target_that_may_not_be_called_is_refused_wherever_it_is_written(
    strict: Api, url: str
) -> None:
    bad = made_of(target_url=url)
    made = await strict.created()
    for answer in (
        await strict.post("/v1/schedules", bad | {"key": "a"}),
        await strict.put("/v1/schedules/by-key/b", bad),
        await strict.put(f"/v1/schedules/by-key/{made['key']}", bad),
        await strict.patch(f"/v1/schedules/{made['id']}", {"target_url": url}),
    ):
        problem(answer, 422)
        assert fields_of(answer) == ["target_url"]
    bulk = await strict.post("/v1/schedules/bulk", [bad | {"key": "c"}])
    problem(bulk, 422)
    assert fields_of(bulk) == ["items[0].target_url"]
    partial = await strict.post("/v1/schedules/bulk", [bad | {"key": "c"}], partial="true")
    assert partial.json()["failed"] == 1
    assert partial.json()["items"][0]["problem"]["errors"][0]["field"] == "target_url"
    assert await strict.count() == 1


async def test_the_sentence_says_what_can_be_done(strict: Api) -> None:
    answer = await strict.post("/v1/schedules", made_of(target_url="http://10.0.0.5/"))
    assert problem(answer, 422)["detail"] == (
        "Invalid target_url: the address 10.0.0.5 is private; "
        "ROTA_ALLOW_PRIVATE_TARGETS=1 or allow_targets lets targets be private"
    )
