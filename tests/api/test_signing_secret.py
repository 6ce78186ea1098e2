"""`/v1/signing-secret`: shown to admins, rotated with an overlap (S13)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.db.secrets_kit import vault

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    return replace(engine, vault=vault())


async def test_it_is_made_when_it_is_first_asked_for_and_stays(api: Api) -> None:
    first, second = await api.get("/v1/signing-secret"), await api.get("/v1/signing-secret")
    assert first.json() == second.json()
    assert first.json()["secret"].startswith("whsec_")
    assert first.json()["version"] == 1
    assert first.json()["retiring"] == []
    assert first.headers["cache-control"] == "no-store"


async def test_rotation_keeps_the_one_before_for_the_overlap(api: Api) -> None:
    before = (await api.get("/v1/signing-secret")).json()
    after = (await api.post("/v1/signing-secret/rotate", {"overlap": "2h"})).json()
    assert after["secret"] != before["secret"]
    assert after["version"] == 2
    (retiring,) = after["retiring"]
    assert retiring["version"] == 1
    left = datetime.fromisoformat(retiring["retired_at"]) - datetime.now(UTC)  # noqa: TID251
    assert timedelta(minutes=119) < left <= timedelta(hours=2)
    assert (await api.get("/v1/signing-secret")).json() == after
    at_once = (await api.post("/v1/signing-secret/rotate", {"overlap": 0})).json()
    assert at_once["retiring"] == []
    day = (await api.post("/v1/signing-secret/rotate")).json()
    assert day["version"] == 4


@pytest.mark.parametrize("overlap", ["soon", -1, "31d", 1e300, [], "-5m"])
async def test_what_is_not_an_overlap_is_named(api: Api, overlap: Any) -> None:
    answer = await api.post("/v1/signing-secret/rotate", {"overlap": overlap})
    assert answer.status_code == 422
    assert fields_of(answer) == ["overlap"]


async def test_only_admins_see_it(engine: Engine, http: httpx.AsyncClient) -> None:
    writer = await caller(engine, http, "write")
    problem(await writer.get("/v1/signing-secret"), 403)
    problem(await writer.post("/v1/signing-secret/rotate"), 403)


async def test_each_tenant_has_its_own(engine: Engine, http: httpx.AsyncClient, api: Api) -> None:
    other = await caller(engine, http, "admin", tenant="another")
    mine, theirs = await api.get("/v1/signing-secret"), await other.get("/v1/signing-secret")
    assert mine.json()["secret"] != theirs.json()["secret"]
