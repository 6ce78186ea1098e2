"""Tasks for the tests: functions with their schedules, and a worker that runs them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.db.queue_support import some_worker

from rota.db import Listener
from rota.db.locks import QUEUE
from rota.events import Bus, Recorder
from rota.queue.enqueue import EnqueueRequest, enqueue
from rota.schedules import update
from rota.tenants import service as tenants
from rota.workers.channels import CHANNELS
from rota.workers.settings import WorkerSettings
from rota.workers.tasks.caller import TaskCaller
from rota.workers.tasks.registry import Registry, TaskSpec
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from uuid import UUID

    from rota.db import Database, Subscription

QUICK = WorkerSettings(
    concurrency=4,
    prefetch=4,
    poll_interval=timedelta(milliseconds=50),
    rescue_interval=timedelta(milliseconds=200),
    heartbeat_interval=timedelta(seconds=2),
    stop_grace=timedelta(seconds=2),
)


async def declare(db: Database, name: str = "t", **fields: Any) -> UUID:
    """A task's schedule, as a program declares it; its id."""
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        given = {
            "name": name,
            "job_type": name,
            "on_demand": True,
            "overlap_policy": "allow",
            **fields,
        }
        saved = await update.upsert_by_key(tx, tenant, f"task:{name}", given, shards=8)
    return saved.schedule.id


async def ask(db: Database, name: str = "t", payload: bytes | None = None, **fields: Any) -> UUID:
    """Enqueue one; its id."""
    async with db.transaction() as tx:
        return (await enqueue(tx, EnqueueRequest(task=name, payloads=[payload], **fields)))[0]


@dataclass
class Crew:
    """A worker with tasks, and all that it says."""

    worker: Worker
    caller: TaskCaller
    recorder: Recorder
    heard: Subscription
    """Its first wait ends when the worker hears of what is enqueued."""


@asynccontextmanager
async def working(
    db: Database, *functions: Callable[..., Any], settings: WorkerSettings = QUICK, **fields: Any
) -> AsyncGenerator[Crew]:
    """A worker of the queue `default` that has these functions, each a task of its own name."""
    registry = Registry()
    for each in functions:
        registry.add(TaskSpec.of(each, name=each.__name__))
        await declare(db, each.__name__, **fields)
    bus, id_ = Bus(), some_worker()
    recorder = Recorder(bus)
    caller = TaskCaller(registry, db=db, worker=id_, concurrency=settings.concurrency, bus=bus)
    async with Listener(db.dsn, list(CHANNELS)) as news:
        worker = Worker(
            db, id_=id_, callers={"default": caller}, listener=news, settings=settings, bus=bus
        )
        try:
            async with worker:
                yield Crew(worker, caller, recorder, news.subscribe(QUEUE))
        finally:
            caller.close()
