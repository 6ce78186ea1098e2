"""Procrastinate, with 50 at once and a poll of 100 ms in place of its 5 s."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

import procrastinate

from bench.tasks.part import Noted, instants, main, now

noted = Noted(0)


def _app(dsn: str) -> tuple[procrastinate.App, Any]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn))

    @app.task(name="noop", queue="bench")
    async def noop(due: float) -> None:
        noted.start(due)

    return app, noop


async def _ready(app: procrastinate.App) -> None:
    with contextlib.suppress(Exception):  # it is there already
        await app.schema_manager.apply_schema_async()


async def _one(dsn: str, count: int) -> dict[str, float]:
    app, noop = _app(dsn)
    async with app.open_async():
        await _ready(app)
        began = now()
        for _ in range(count):
            await noop.defer_async(due=0.0)
        return {"seconds": now() - began}


async def _many(dsn: str, count: int) -> dict[str, float]:
    app, noop = _app(dsn)
    async with app.open_async():
        await _ready(app)
        began = now()
        await _enter(noop, [0.0] * count)
        return {"seconds": now() - began}


async def _enter(noop: Any, due: list[float]) -> None:
    for at in range(0, len(due), 1_000):
        await noop.batch_defer_async(*({"due": each} for each in due[at : at + 1_000]))


async def _work(app: procrastinate.App) -> None:
    done = asyncio.Event()
    noted.on_done = done.set
    worker = asyncio.create_task(
        app.run_worker_async(
            queues=["bench"],
            concurrency=50,
            fetch_job_polling_interval=0.1,
            install_signal_handlers=False,
        )
    )
    await done.wait()
    worker.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await worker


async def _drain(dsn: str, count: int) -> dict[str, float]:
    app, noop = _app(dsn)
    async with app.open_async():
        await _ready(app)
        await _enter(noop, [0.0] * count)
        noted.count = count
        await _work(app)
        return noted.took()


async def _late(dsn: str, count: int, rate: int) -> dict[str, float]:
    app, noop = _app(dsn)
    async with app.open_async():
        await _ready(app)
        due = instants(count, rate, entered_in=count / (500 if rate else 5_000))
        noted.count = count
        if rate:
            for each in due:
                at = datetime.fromtimestamp(each, UTC)
                await noop.configure(schedule_at=at).defer_async(due=each)
        else:
            await _enter(noop.configure(schedule_at=datetime.fromtimestamp(due[0], UTC)), due)
        await _work(app)
        return noted.lateness()


if __name__ == "__main__":
    main(
        {
            "one": lambda dsn, count, _: asyncio.run(_one(dsn, count)),
            "many": lambda dsn, count, _: asyncio.run(_many(dsn, count)),
            "drain": lambda dsn, count, _: asyncio.run(_drain(dsn, count)),
            "late": lambda dsn, count, rate: asyncio.run(_late(dsn, count, rate)),
        }
    )
