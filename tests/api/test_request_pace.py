"""Requests per tenant (S12): 429 with Retry-After; one limit for all nodes, kept over restarts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx
from tests.api.conftest import Api, caller, problem

from rota.api.app import create
from rota.clock import ManualClock, SystemClock
from rota.db import Database
from rota.tenants import request_pace
from rota.tenants.bucket import Bucket, Purse, Taken
from rota.tenants.request_pace import RequestPace, TooManyRequests
from rota.tenants.service import default_tenant

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import pytest

    from rota.api.engine import Engine
    from rota.clock import Clock

SLOW = 0.001
"""A token in a quarter of an hour: within a test, what the bucket holds is all there is."""


@asynccontextmanager
async def _node(
    engine: Engine, dsn: str, *, rate: float, burst: int, clock: Clock | None = None
) -> AsyncGenerator[Api]:
    """Another server on the same database, with connections and purses of its own."""
    async with await Database.open(dsn, pool_size=4) as db:
        pace = RequestPace(db, clock=clock or engine.clock, rate=rate, burst=burst)
        node = replace(engine, db=db, pace=pace)
        transport = httpx.ASGITransport(create(node))  # pyright: ignore[reportArgumentType] - ASGI
        async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
            yield Api(http, node, {})


def _frozen() -> ManualClock:
    """For a node that is no slower on a busy machine: what it was told stays new."""
    return ManualClock(datetime(2027, 1, 1, tzinfo=UTC))


def _as(node: Api, who: Api) -> Api:
    return replace(node, headers=who.headers)


async def _passed(api: Api, count: int) -> int:
    """How many of so many requests at once were answered; the others are proper refusals."""
    answers = await asyncio.gather(*(api.get("/v1/schedules") for _ in range(count)))
    for each in answers:
        if each.status_code != 200:
            problem(each, 429)
            assert int(each.headers["retry-after"]) >= 1
    return sum(each.status_code == 200 for each in answers)


async def test_whoever_asks_too_much_is_told_when_to_come_back(
    engine: Engine, dsn: str, api: Api
) -> None:
    async with _node(engine, dsn, rate=SLOW, burst=3) as node:
        assert await _passed(_as(node, api), 5) == 3
        answer = await _as(node, api).post("/v1/schedules", {})
        assert "requests a second" in problem(answer, 429)["detail"]
        assert 900 <= int(answer.headers["retry-after"]) <= 1000


async def test_two_nodes_share_one_limit(engine: Engine, dsn: str, api: Api) -> None:
    async with (
        _node(engine, dsn, rate=SLOW, burst=20) as one,
        _node(engine, dsn, rate=SLOW, burst=20) as other,
    ):
        passed = await asyncio.gather(_passed(_as(one, api), 30), _passed(_as(other, api), 30))
        assert sum(passed) == 20


async def test_a_restart_gives_nothing_back(engine: Engine, dsn: str, api: Api) -> None:
    async with _node(engine, dsn, rate=SLOW, burst=4) as before:
        assert await _passed(_as(before, api), 4) == 4
    async with _node(engine, dsn, rate=SLOW, burst=4) as after:
        assert await _passed(_as(after, api), 2) == 0


async def test_others_are_not_held_up_by_whoever_floods(
    engine: Engine, http: httpx.AsyncClient, dsn: str, api: Api
) -> None:
    """A asks a hundred times what it may; B gets every answer."""
    quiet = await caller(engine, http, "read", tenant="quiet")
    async with _node(engine, dsn, rate=SLOW, burst=5) as node:
        flood = asyncio.create_task(_passed(_as(node, api), 500))
        assert await _passed(_as(node, quiet), 5) == 5
        assert await flood == 5


class _CountingClock(SystemClock):
    """Fails a caller that asks for the time forever, which no time-out of the loop could end."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        assert self.asked < 10_000, "a request waits in a busy loop"
        return super().monotonic()


async def test_requests_that_come_as_a_lease_ends_do_not_spin(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run after the lease has ended and before the loop has called anything back for it."""
    async with engine.db.transaction() as tx:
        tenant = await default_tenant(tx)
    pace = RequestPace(engine.db, clock=_CountingClock(), rate=SLOW, burst=2)
    real = Purse.fill
    late: list[asyncio.Task[None]] = []

    def fill(purse: Purse, now: float, taken: Taken, most: int) -> None:
        real(purse, now, taken, most)
        if not late:
            late.extend(asyncio.create_task(pace.spend(tenant)) for _ in range(3))

    monkeypatch.setattr(Purse, "fill", fill)
    first = asyncio.create_task(pace.spend(tenant))
    await asyncio.wait([first])
    ends = await asyncio.gather(first, *late, return_exceptions=True)
    assert [each for each in ends if each and not isinstance(each, TooManyRequests)] == []
    assert len([each for each in ends if each is None]) == 2


async def test_refusing_a_flood_asks_nothing_of_the_database(
    engine: Engine, dsn: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _node(engine, dsn, rate=SLOW, burst=2, clock=_frozen()) as node:
        await _passed(_as(node, api), 4)
        taken: list[object] = []

        async def take(*args: object, **_: object) -> None:
            taken.append(args)

        monkeypatch.setattr(request_pace, "take", take)
        assert await _passed(_as(node, api), 200) == 0
        assert not taken


async def test_many_requests_share_few_leases(
    engine: Engine, dsn: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases: list[int] = []
    real = request_pace.take

    async def counted(*args: object, **more: object) -> object:
        leases.append(1)
        return await real(*args, **more)  # pyright: ignore[reportArgumentType] - as it was called

    monkeypatch.setattr(request_pace, "take", counted)
    async with _node(engine, dsn, rate=5_000, burst=10_000, clock=_frozen()) as node:
        for _ in range(10):
            assert await _passed(_as(node, api), 50) == 50
    assert len(leases) <= 40


async def test_a_tenants_own_rate_counts_and_may_be_raised(
    engine: Engine, http: httpx.AsyncClient, dsn: str, api: Api
) -> None:
    theirs = await caller(engine, http, "read", tenant="acme")
    tenants = (await api.get("/v1/tenants")).json()["items"]
    [acme] = [each["id"] for each in tenants if each["name"] == "acme"]
    # A new node each time, which has not heard of the rate before.
    await api.patch(f"/v1/tenants/{acme}", {"request_rate": SLOW})
    async with _node(engine, dsn, rate=0, burst=1) as node:
        assert await _passed(_as(node, theirs), 20) == 1
        # Nobody else has a limit.
        assert await _passed(_as(node, api), 20) == 20
    await api.patch(f"/v1/tenants/{acme}", {"request_rate": 10_000})
    async with _node(engine, dsn, rate=0, burst=1) as node:
        assert await _passed(_as(node, theirs), 20) == 20


async def test_a_changed_rate_applies_to_the_very_next_request(
    engine: Engine, http: httpx.AsyncClient, dsn: str, api: Api
) -> None:
    theirs = await caller(engine, http, "read", tenant="acme")
    tenants = (await api.get("/v1/tenants")).json()["items"]
    [at] = [f"/v1/tenants/{each['id']}" for each in tenants if each["name"] == "acme"]
    await api.patch(at, {"request_rate": SLOW})
    async with _node(engine, dsn, rate=0, burst=1) as node:
        assert await _passed(_as(node, theirs), 20) == 1
        await _as(node, api).patch(at, {"request_rate": 1_000})
        assert await _passed(_as(node, theirs), 20) == 20
        await _as(node, api).patch(at, {"request_rate": SLOW})
        assert await _passed(_as(node, theirs), 20) == 1
        await _as(node, api).patch(at, {"request_rate": None})
        assert await _passed(_as(node, theirs), 20) == 20


async def test_who_lacks_a_right_pays_too_and_who_has_no_key_does_not(
    engine: Engine, http: httpx.AsyncClient, dsn: str
) -> None:
    reader = await caller(engine, http, "read", tenant="reader")
    async with _node(engine, dsn, rate=SLOW, burst=2) as node:
        statuses = [(await _as(node, reader).get("/v1/keys")).status_code for _ in range(3)]
        assert statuses == [403, 403, 429]
        for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
            assert (await node.get(path)).status_code == 200
        assert (await node.get("/v1/schedules")).status_code == 401


async def test_the_bucket_of_a_tenant_that_is_gone_is_gone_too(api: Api) -> None:
    made = (await api.post("/v1/tenants", {"name": "acme"})).json()
    async with api.engine.db.transaction() as tx:
        tenant_id = await tx.fetch_value("SELECT id FROM tenants WHERE name = 'acme'")
        await request_pace.take(tx, tenant_id, Bucket(rate=1, burst=1), 1)
    assert (await api.delete(f"/v1/tenants/{made['id']}")).status_code == 204
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM request_pace") == 0
        await request_pace.take(tx, tenant_id, Bucket(rate=1, burst=1), 1)


LONG: dict[str, object] = {"cron_expr": "* * * * * *", "count": 10_000}


async def test_a_long_request_counts_as_many(engine: Engine, dsn: str, api: Api) -> None:
    async with _node(engine, dsn, rate=SLOW, burst=150) as node:
        mine = _as(node, api)
        assert (await mine.post("/v1/preview", LONG)).status_code == 200
        # 100 of the 150 are spent: another does not fit, a short one does.
        answer = await mine.post("/v1/preview", LONG)
        assert "a long request counts as several" in problem(answer, 429)["detail"]
        assert int(answer.headers["retry-after"]) >= 1
        assert (await mine.post("/v1/preview", {**LONG, "count": 10})).status_code == 200


async def test_ten_thousand_schedules_count_as_a_hundred_requests_and_their_bytes(
    engine: Engine, dsn: str, api: Api
) -> None:
    items = [
        {"name": f"n{at}", "key": f"k{at}", "interval": "1h", "job_type": "x"}
        for at in range(10_000)
    ]
    async with _node(engine, dsn, rate=SLOW, burst=160) as node:
        mine = _as(node, api)
        assert (await mine.post("/v1/schedules/bulk", items)).status_code == 201
        problem(await mine.post("/v1/preview", LONG), 429)


async def test_one_that_costs_more_than_can_be_saved_up_passes_when_all_is_there(
    engine: Engine, dsn: str, api: Api
) -> None:
    async with _node(engine, dsn, rate=SLOW, burst=3) as node:
        assert (await _as(node, api).post("/v1/preview", LONG)).status_code == 200
        problem(await _as(node, api).get("/v1/schedules"), 429)


async def test_a_flood_of_long_requests_asks_nothing_of_the_database(
    engine: Engine, dsn: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _node(engine, dsn, rate=1.0, burst=120, clock=_frozen()) as node:
        mine = _as(node, api)
        assert (await mine.post("/v1/preview", LONG)).status_code == 200
        problem(await mine.post("/v1/preview", LONG), 429)
        needed: list[int] = []
        real = request_pace.take

        async def counted(*args: object, least: int = 1) -> object:
            needed.append(least)
            return await real(*args, least=least)  # pyright: ignore[reportArgumentType] - as it was called

        monkeypatch.setattr(request_pace, "take", counted)
        await asyncio.gather(*(mine.post("/v1/preview", LONG) for _ in range(10)))
        assert sum(each > 1 for each in needed) <= 2
