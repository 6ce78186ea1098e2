"""Celery targets: the worker, a real database, a real broker and a real Celery worker."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.celery_worker import celery_worker
from tests.db.library_kit import RULES
from tests.db.queue_support import (
    attempt_rows,
    fire,
    firing_rows,
    make_schedule,
    queue_rows,
    some_worker,
    take,
)
from tests.db.test_worker import QUICK
from tests.deadlines import patience
from tests.process.serving import eventually
from tests.redis_server import RedisServer, redis_server

from rota import Rota, ids
from rota.events import Bus, Recorder
from rota.tenants.known import remembered_tenants
from rota.workers.delivery.celery import CeleryCaller, arguments
from rota.workers.events import FiringFinished, FiringRetried
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from rota.db import Database
    from rota.schedules.schedule import Schedule


@pytest.fixture
def redis(tmp_path: Path) -> Generator[RedisServer]:
    with redis_server(tmp_path, password="CANARY-pw") as server:
        yield server


def broker(server: RedisServer) -> str:
    return f"redis://:{server.password}@127.0.0.1:{server.port}/0"


@asynccontextmanager
async def working(db: Database, broker_url: str) -> AsyncGenerator[Recorder]:
    bus = Bus()
    recorder = Recorder(bus)
    with CeleryCaller(broker_url, find_tenant=remembered_tenants(db)) as celery:
        worker = Worker(db, id_=some_worker(), callers={"celery": celery}, settings=QUICK, bus=bus)
        async with worker:
            yield recorder


async def sending(db: Database, **fields: Any) -> Any:
    usual: dict[str, Any] = {"target_url": None, "celery_task": "proj.tasks.add", "queue": "celery"}
    schedule = await make_schedule(db, **usual | fields)
    await allow(db, schedule, "proj.tasks.*@*")
    return schedule


async def allow(db: Database, schedule: Schedule, *patterns: str) -> None:
    """Let its tenant send these, and no others."""
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE tenants SET celery_allow = $2 WHERE id = $1",
            schedule.tenant_id,
            list(patterns),
        )


@pytest.mark.parametrize(
    ("payload", "args", "kwargs"),
    [
        ([1, "é"], [1, "é"], {}),
        ({"x": {"y": 2}}, [], {"x": {"y": 2}}),
        ("one", ["one"], {}),
        (0, [0], {}),
        (None, [], {}),
    ],
)
def test_a_payload_becomes_arguments(payload: object, args: list[Any], kwargs: Any) -> None:
    assert arguments(payload) == (args, kwargs)


async def test_a_task_is_run_once_with_its_arguments_by_a_real_celery_worker(
    db: Database, redis: RedisServer, tmp_path: Path
) -> None:
    """DS2, DS3: its id is the firing's; by a list and by an object, in two queues."""
    listed = await sending(db, payload=[2, 3])
    named = await sending(db, payload={"x": 1}, queue="mail")
    with celery_worker(tmp_path, broker(redis), queues="celery,mail") as celery:
        async with working(db, broker(redis)) as recorder:
            first = await fire(db, listed, lane="celery")
            second = await fire(db, named, lane="celery")
            await recorder.wait_for(
                FiringFinished, where=lambda _: len(recorder.all(FiringFinished)) == 2
            )
        done = eventually(lambda: found if len(found := celery.done()) >= 2 else None)
    by_id = {each["id"]: each for each in done}
    assert len(done) == 2
    one, two = (by_id[ids.to_text(ids.Kind.FIRING, id_)] for id_ in (first, second))
    assert (one["args"], one["kwargs"], one["queue"]) == ([2, 3], {}, "celery")
    assert (two["args"], two["kwargs"], two["queue"]) == ([], {"x": 1}, "mail")
    assert one["headers"]["rota_firing_id"] == one["id"]
    assert one["headers"]["rota_attempt"] == "1"
    rows = await firing_rows(db)
    assert rows[first]["result_excerpt"] == one["id"]
    assert {row["status"] for row in rows.values()} == {"succeeded"}


async def test_every_attempt_has_the_same_task_id(db: Database, redis: RedisServer) -> None:
    """DS5: a reply was lost, so it is sent again; whoever looks at the id can tell."""
    schedule = await sending(db)
    await fire(db, schedule, lane="celery")
    (claim,) = await take(db, some_worker(), lanes=("celery",))
    with CeleryCaller(broker(redis), find_tenant=remembered_tenants(db)) as celery:
        replies = [await celery.prepare(claim, schedule).send() for _ in range(2)]
    assert {reply.body.decode() for reply in replies} == {ids.to_text(ids.Kind.FIRING, claim.id)}
    assert {reply.error for reply in replies} == {None}


async def test_a_broker_that_is_away_is_tried_again_and_its_address_stays_unsaid(
    db: Database, tmp_path: Path
) -> None:
    with redis_server(tmp_path, password="CANARY-pw") as server:
        url = broker(server)
    schedule = await sending(
        db, backoff="fixed", backoff_delay=4 * QUICK.poll_interval, max_attempts=25
    )
    async with working(db, url) as recorder:
        id_ = await fire(db, schedule, lane="celery")
        retried = await recorder.wait_for(FiringRetried)
        assert "the broker did not take the message" in str(retried)
        with redis_server(tmp_path, password="CANARY-pw", port=server.port):
            assert (await recorder.wait_for(FiringFinished)).status == "succeeded"
    rows = [str(dict(row.items())) for row in await attempt_rows(db)]
    assert len(rows) > 1
    assert "CANARY" not in "".join(rows)
    assert (await firing_rows(db))[id_]["attempt"] > 1


@pytest.mark.parametrize("allowed", [(), ("proj.tasks.add@mail",), ("proj.tasks.a@*", "*.sub@*")])
async def test_a_permission_that_was_withdrawn_ends_the_firing_unsent(
    db: Database, redis: RedisServer, allowed: tuple[str, ...]
) -> None:
    schedule = await sending(db)
    await allow(db, schedule, *allowed)
    async with working(db, broker(redis)) as recorder:
        id_ = await fire(db, schedule, lane="celery")
        ended = await recorder.wait_for(FiringFinished)
    assert ended.status == "dead"
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"]) == ("dead", 1)
    assert "may not send proj.tasks.add to Celery's queue celery" in row["reason"]
    assert "celery_allow" in row["reason"]
    with redis.opened() as client:
        assert client.keys("*") == []


async def test_a_worker_without_a_broker_leaves_celery_tasks_to_those_that_have_one(
    dsn: str, db: Database, redis: RedisServer
) -> None:
    """It claims nothing of that lane: the firing waits, and is sent once a broker is set."""
    rules: dict[str, Any] = {**RULES, "tenants": "all"}
    schedule = await sending(db, payload=[2, 3])
    id_ = await fire(db, schedule, lane="celery")
    own = Rota(dsn, name="one", **rules)

    @own.task
    async def look() -> str:
        return "done"

    async with own:
        assert await (await look.enqueue()).result(timeout=patience(30)) == "done"
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["attempt"]) == ("waiting", 0)
    async with Rota(dsn, name="two", celery_broker_url=broker(redis), **rules) as rota:
        ended = await Recorder(rota.running.bus).wait_for(FiringFinished)
    assert (ended.firing_id, ended.status) == (id_, "succeeded")
