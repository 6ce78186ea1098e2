"""Stream targets: the worker, a real database and a real Redis."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import (
    attempt_rows,
    fire,
    firing_rows,
    make_schedule,
    some_worker,
    take,
)
from tests.db.test_worker import QUICK
from tests.redis_server import RedisServer, redis_server

from rota import ids
from rota.events import Bus, Recorder
from rota.targets import OPEN, TargetPolicy
from rota.workers.delivery.redis_streams import StreamCaller
from rota.workers.events import FiringFinished, FiringRetried
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from rota.db import Database


@pytest.fixture
def redis(tmp_path: Path) -> Generator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


@asynccontextmanager
async def working(db: Database, **settings: Any) -> AsyncGenerator[Recorder]:
    bus = Bus()
    recorder = Recorder(bus)
    async with StreamCaller(settings.pop("policy", OPEN), **settings) as streams:
        worker = Worker(db, id_=some_worker(), callers={"stream": streams}, settings=QUICK, bus=bus)
        async with worker:
            yield recorder


async def streaming(db: Database, stream: str, **fields: Any) -> Any:
    return await make_schedule(db, target_url=None, stream=stream, **fields)


async def test_a_firing_becomes_an_entry_with_all_that_there_is_to_say(
    db: Database, redis: RedisServer
) -> None:
    """DS2, DS3, HX8: for consumers that never heard of Rota's headers."""
    schedule = await streaming(
        db, redis.url("jobs"), payload={"a": [1, "é"]}, idempotency_key="nightly"
    )
    async with working(db) as recorder:
        id_ = await fire(db, schedule, lane="stream")
        finished = await recorder.wait_for(FiringFinished)
    assert (finished.firing_id, finished.status) == (id_, "succeeded")
    row = (await firing_rows(db))[id_]
    (entry,) = redis.entries("jobs")
    assert row["result_excerpt"] == entry.pop("id")
    assert row["result_code"] is None
    assert json.loads(entry.pop("payload")) == {"a": [1, "é"]}
    slot = row["scheduled_for"].isoformat().replace("+00:00", "Z")
    assert entry == {
        "firing_id": ids.to_text(ids.Kind.FIRING, id_),
        "schedule_id": ids.to_text(ids.Kind.SCHEDULE, schedule.id),
        "scheduled_for": slot,
        "attempt": "1",
        "catch_up": "false",
        "idempotency_key": f"nightly:{slot}",
        "fence": "7",
    }
    (attempt,) = await attempt_rows(db)
    shown = json.loads(attempt["request"])
    assert (shown["method"], shown["url"]) == ("XADD", redis.url("jobs"))
    assert attempt["response_body"] == row["result_excerpt"].encode()


async def test_a_repeated_attempt_adds_nothing_and_finds_the_entry(
    db: Database, redis: RedisServer
) -> None:
    """DS8: the reply was lost, so the same claim, and then a later attempt, send it again."""
    schedule = await streaming(db, redis.url("2/jobs"), payload=[1])
    await fire(db, schedule, lane="stream")
    (claim,) = await take(db, some_worker(), lanes=("stream",))
    async with StreamCaller(OPEN) as streams:
        replies = [await streams.prepare(claim, schedule).send() for _ in range(3)]
        together = [streams.prepare(claim, schedule).send() for _ in range(20)]
        replies += await asyncio.gather(*together)
    (entry,) = redis.entries("jobs", db=2)
    assert {reply.body.decode() for reply in replies} == {entry["id"]}
    assert redis.entries("jobs", db=0) == []
    with redis.opened(2) as client:
        (seen,) = client.keys("rota:*")
        assert 86_000 < client.ttl(seen) <= 86_400 + 60


async def test_a_firing_is_remembered_for_as_long_as_it_may_be_tried(
    db: Database, redis: RedisServer
) -> None:

    window = timedelta(days=3)
    schedule = await streaming(db, redis.url("jobs"), retry_window=window)
    await fire(db, schedule, lane="stream")
    (claim,) = await take(db, some_worker(), lanes=("stream",))
    async with StreamCaller(OPEN) as streams:
        await streams.prepare(claim, schedule).send()
    with redis.opened() as client:
        (seen,) = client.keys("rota:*")
        assert client.ttl(seen) > 3 * 86_400 - 60


async def test_after_a_call_that_was_cut_off_nobody_reads_its_late_answer(
    db: Database, redis: RedisServer
) -> None:
    """On a connection that is kept, the answer to one firing must not pass for another's."""
    schedule = await streaming(db, redis.url("jobs"), overlap_policy="allow", timeout_seconds=0.3)
    for _ in range(2):
        await fire(db, schedule, lane="stream")
    first, second = await take(db, some_worker(), lanes=("stream",))
    async with StreamCaller(OPEN) as streams:
        await streams.prepare(first, schedule).send()
        with redis.opened() as client:
            client.xtrim("jobs", 0)
            client.client_pause(600)
            late = await streams.prepare(second, schedule).send()
            assert late.timed_out
            client.ping()
        replies = [await streams.prepare(each, schedule).send() for each in (first, second)]
    (entry,) = redis.entries("jobs")
    assert entry["firing_id"] == ids.to_text(ids.Kind.FIRING, second.id)
    assert replies[1].body.decode() == entry["id"]
    assert replies[0].body != replies[1].body


async def test_every_firing_of_many_arrives_once(db: Database, redis: RedisServer) -> None:
    schedule = await streaming(db, redis.url("jobs"), overlap_policy="allow")
    async with working(db) as recorder:
        expected = {await fire(db, schedule, lane="stream") for _ in range(50)}
        await recorder.wait_for(
            FiringFinished, where=lambda _: len(recorder.all(FiringFinished)) == 50
        )
    found = [ids.from_text(ids.Kind.FIRING, each["firing_id"]) for each in redis.entries("jobs")]
    assert len(found) == 50
    assert set(found) == expected


async def test_a_server_that_is_away_is_tried_again_until_it_is_back(
    db: Database, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as server:
        port = server.port
    schedule = await streaming(
        db,
        f"redis://127.0.0.1:{port}/jobs",
        backoff="fixed",
        backoff_delay=4 * QUICK.poll_interval,
        max_attempts=25,
    )
    async with working(db) as recorder:
        await fire(db, schedule, lane="stream")
        retried = await recorder.wait_for(FiringRetried)
        assert f"could not connect to 127.0.0.1:{port}" in str(retried)
        with redis_server(tmp_path, port=port) as server:
            assert (await recorder.wait_for(FiringFinished)).status == "succeeded"
            (entry,) = server.entries("jobs")
    assert int(entry["attempt"]) > 1


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (("SET", "jobs", "text"), "WRONGTYPE"),
        (("CONFIG", "SET", "requirepass", "pw"), "Authentication required"),
    ],
)
async def test_what_another_attempt_cannot_mend_is_dead_at_once(
    db: Database, redis: RedisServer, spoil: tuple[str, ...], told: str
) -> None:
    with redis.opened() as client:
        client.execute_command(*spoil)
    schedule = await streaming(db, redis.url("jobs"))
    async with working(db) as recorder:
        id_ = await fire(db, schedule, lane="stream")
        await recorder.wait_for(FiringFinished)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"]) == ("dead", 1)
    assert told in row["reason"]


async def test_a_full_server_is_not_a_reason_to_give_up(db: Database, redis: RedisServer) -> None:
    with redis.opened() as client:
        client.config_set("maxmemory", "1")
        schedule = await streaming(
            db, redis.url("jobs"), backoff="fixed", backoff_delay=QUICK.poll_interval
        )
        async with working(db) as recorder:
            await fire(db, schedule, lane="stream")
            await recorder.wait_for(FiringRetried)
            client.config_set("maxmemory", "0")
            assert (await recorder.wait_for(FiringFinished)).status == "succeeded"
    assert len(redis.entries("jobs")) == 1


async def test_a_private_server_is_refused_by_the_policy_and_never_connected_to(
    db: Database, redis: RedisServer
) -> None:
    """S1: by its address, and by a name that leads there (S2)."""

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with redis.opened() as client:
        before = client.info("stats")["total_connections_received"]
        for host in ("127.0.0.1", "redis.example"):
            schedule = await streaming(db, f"redis://{host}:{redis.port}/jobs", max_attempts=1)
            async with working(db, policy=TargetPolicy(), lookup=lookup) as recorder:
                id_ = await fire(db, schedule, lane="stream")
                await recorder.wait_for(FiringFinished)
            row = (await firing_rows(db))[id_]
            assert row["status"] == "dead"
            assert "127.0.0.1" in row["reason"]
        assert client.info("stats")["total_connections_received"] == before
