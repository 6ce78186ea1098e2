"""`/v1/signing-secret`: the key of a host, shown to admins and rotated with an overlap."""

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

PATH = "/v1/signing-secret"
HOST = "example.com"


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    return replace(engine, vault=vault())


async def test_it_is_made_when_it_is_first_asked_for_and_stays(api: Api) -> None:
    first, second = await api.get(PATH, host=HOST), await api.get(PATH, host=HOST)
    assert first.json() == second.json()
    assert first.json()["secret"].startswith("whsec_")
    assert first.json()["version"] == 1
    assert first.json()["retiring"] == []
    assert first.headers["cache-control"] == "no-store"


async def test_rotation_keeps_the_one_before_for_the_overlap(api: Api) -> None:
    before = (await api.get(PATH, host=HOST)).json()
    body = {"overlap": "2h", "host": "https://Example.com:443/hook"}
    after = (await api.post("/v1/signing-secret/rotate", body)).json()
    assert after["secret"] != before["secret"]
    assert after["version"] == 2
    (retiring,) = after["retiring"]
    assert retiring["version"] == 1
    left = datetime.fromisoformat(retiring["retired_at"]) - datetime.now(UTC)  # noqa: TID251
    assert timedelta(minutes=119) < left <= timedelta(hours=2)
    assert (await api.get(PATH, host=HOST)).json() == after
    at_once = (await api.post("/v1/signing-secret/rotate", {"overlap": 0})).json()
    assert at_once["retiring"] == []
    day = (await api.post("/v1/signing-secret/rotate")).json()
    assert (day["version"], day["host"], day["secret"]) == (4, None, None)


async def test_each_host_has_its_own_key_whatever_it_is_called(api: Api) -> None:
    one = (await api.get(PATH, host=HOST)).json()
    assert (one["host"], one["shared"]) == ("example.com", False)
    for name in ("EXAMPLE.com.", "example.com:443", "https://example.com/hook"):
        assert (await api.get(PATH, host=name)).json() == one
    other = (await api.get(PATH, host="example.com:8443")).json()
    assert (other["host"], other["version"]) == ("example.com:8443", one["version"])
    assert other["secret"] != one["secret"]


@pytest.mark.parametrize("query", [{}, {"host": ""}, {"host": "münchen.example"}, {"host": "a b"}])
async def test_without_a_host_there_is_no_key_to_show(api: Api, query: dict[str, str]) -> None:
    """The tenant's own secret, of which all keys are made, is never shown."""
    answer = await api.get(PATH, **query)
    assert answer.status_code == 422
    assert fields_of(answer) == ["host"]
    assert "whsec_" not in answer.text


async def test_a_secret_from_before_says_that_all_hosts_share_it(api: Api, engine: Engine) -> None:
    await api.get(PATH, host=HOST)
    async with engine.db.transaction() as tx:
        await tx.execute("UPDATE signing_secrets SET shared = true")
    one, other = (
        (await api.get(PATH, host=HOST)).json(),
        (await api.get(PATH, host=f"{HOST}:81")).json(),
    )
    assert (one["shared"], one["secret"]) == (True, other["secret"])
    await api.post("/v1/signing-secret/rotate")
    one, other = (
        (await api.get(PATH, host=HOST)).json(),
        (await api.get(PATH, host=f"{HOST}:81")).json(),
    )
    assert not one["shared"]
    assert one["secret"] != other["secret"]


@pytest.mark.parametrize("overlap", ["soon", -1, "31d", 1e300, [], "-5m"])
async def test_what_is_not_an_overlap_is_named(api: Api, overlap: Any) -> None:
    answer = await api.post("/v1/signing-secret/rotate", {"overlap": overlap})
    assert answer.status_code == 422
    assert fields_of(answer) == ["overlap"]


async def test_only_admins_see_it(engine: Engine, http: httpx.AsyncClient) -> None:
    writer = await caller(engine, http, "write")
    problem(await writer.get(PATH, host=HOST), 403)
    problem(await writer.post("/v1/signing-secret/rotate"), 403)


async def test_each_tenant_has_its_own(engine: Engine, http: httpx.AsyncClient, api: Api) -> None:
    other = await caller(engine, http, "admin", tenant="another")
    mine, theirs = await api.get(PATH, host=HOST), await other.get(PATH, host=HOST)
    assert mine.json()["secret"] != theirs.json()["secret"]
