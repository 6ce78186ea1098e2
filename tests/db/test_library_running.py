"""A program that runs Rota inside itself: on any loop, in a web app, or only to enqueue."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from litestar import Litestar, get
from litestar.testing import AsyncTestClient
from starlette.applications import Starlette
from tests.db.library_kit import RULES, program
from tests.deadlines import patience

from rota import Context, Rota, TaskFailed
from rota.errors import InvalidConfig
from rota.library.errors import NotRunning

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database


async def test_schedules_run_on_the_loop_and_in_threads_of_the_program(dsn: str) -> None:
    rota = program(dsn)
    ran: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def note(name: str) -> None:
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        loop.call_soon_threadsafe(ran.put_nowait, (name, here))

    @rota.schedule("every second")
    async def on_loop() -> None:
        note("loop")

    @rota.schedule("every second")
    def in_thread(context: Context) -> None:
        note(f"thread, attempt {context.attempt}")

    seen: dict[str, bool] = {}
    async with rota, asyncio.timeout(patience(20)):
        assert rota.is_running
        while len(seen) < 2:
            name, here = await ran.get()
            seen[name] = here
    assert not rota.is_running
    assert seen == {"loop": True, "thread, attempt 1": False}


async def test_a_rota_is_started_once_at_a_time_and_may_start_again(dsn: str) -> None:
    rota = program(dsn, roles="worker")
    async with rota:
        with pytest.raises(NotRunning, match="running already"):
            await rota.start()
        with pytest.raises(NotRunning, match="running already"):
            rota.run()
        assert rota.is_running, "a refused start changes nothing"
    await rota.start()
    await rota.stop()
    with pytest.raises(NotRunning, match="is not running"):
        await rota.stop()


async def test_a_start_that_fails_leaves_nothing_behind(dsn: str, db: Database) -> None:
    rota = program(dsn, tenant="nobody")
    with pytest.raises(InvalidConfig, match="tenant: expected one that exists, got 'nobody'"):
        await rota.start()
    assert not rota.is_running
    assert await _nodes(db) == 0
    cancelled = asyncio.create_task(program(dsn).start())
    await asyncio.sleep(0)  # noqa: TID251 - only that it has begun
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_what_follows_another_is_told_of_it_if_it_asks(dsn: str) -> None:
    rota = program(dsn)
    told: asyncio.Queue[Any] = asyncio.Queue()

    @rota.task
    async def extract(table: str) -> dict[str, int]:
        return {table: 7}

    @rota.schedule(after=extract)
    async def silent() -> None:
        told.put_nowait("silent")

    @rota.schedule(after=extract, on="finished")
    async def curious(after: dict[str, Any]) -> None:
        told.put_nowait(after["result"])

    async with rota, asyncio.timeout(patience(20)):
        await extract.enqueue("users")
        heard = [await told.get(), await told.get()]
    assert {"users": 7} in heard
    assert "silent" in heard


async def test_what_fails_for_good_is_in_the_programs_log(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    rota = program(dsn)

    @rota.task(name="broken", max_attempts=1)
    def broken(number: int) -> float:
        return number / 0

    async with rota:
        handle = await broken.enqueue(1)
        with pytest.raises(TaskFailed, match="ZeroDivisionError"):
            await handle.result(timeout=patience(20))
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 1
    assert said[0].startswith(f"broken failed for good ({handle.id}): ZeroDivisionError")
    assert "return number / 0" in said[0]


async def test_a_process_may_only_enqueue(dsn: str, db: Database) -> None:
    web, worker = program(dsn, roles=()), program(dsn)
    for rota in (web, worker):
        _add_double(rota)
    async with web:
        assert await _nodes(db) == 0, "it is no node: it fires and claims nothing"
        with pytest.raises(NotRunning, match="only enqueues"):
            await web.declare()
        handle = await _double(web).enqueue(21)
        async with worker:
            assert await handle.result(timeout=patience(10)) == 42


async def test_no_first_key_is_made_where_nobody_would_see_it(dsn: str, db: Database) -> None:
    """A key that nobody was shown would be the only one, for ever."""
    async with program(dsn, roles="worker"):
        pass
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM api_keys") == 0


async def test_fastapi_and_starlette_run_it_as_their_lifespan(dsn: str) -> None:
    for kind in (FastAPI, Starlette):
        rota = program(dsn, roles="worker")
        app: Any = kind(lifespan=rota.lifespan)
        async with app.router.lifespan_context(app):
            assert rota.is_running
        assert not rota.is_running


async def test_a_lifespan_goes_with_the_apps_own(dsn: str) -> None:
    rota = program(dsn, roles=())
    order: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        order.append("begin")
        async with rota:
            yield
        order.append("end")

    app = FastAPI(lifespan=lifespan)
    async with app.router.lifespan_context(app):
        assert rota.is_running
    assert order == ["begin", "end"]


async def test_litestar_runs_it_as_its_lifespan(dsn: str) -> None:
    rota = program(dsn)
    _add_double(rota)

    @get("/")
    async def ask() -> dict[str, int]:
        handle = await _double(rota).enqueue(4)
        return {"result": await handle.result(timeout=patience(10))}

    app = Litestar([ask], lifespan=[rota.lifespan], openapi_config=None, logging_config=None)
    async with AsyncTestClient(app) as client:
        answer = await client.get("/")
        assert answer.json() == {"result": 8}


async def test_the_environment_names_the_database(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_DSN", dsn)
    rota = Rota(app="billing", roles=(), **RULES)
    async with rota:
        assert rota.running.dsn == dsn


def _add_double(rota: Rota) -> None:
    @rota.task(name="double")
    def double(number: int) -> int:  # pyright: ignore[reportUnusedFunction] - found by its name
        return number * 2

    tasks[rota] = double


tasks: dict[Rota, Any] = {}


def _double(rota: Rota) -> Any:
    return tasks[rota]


async def _nodes(db: Database) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT count(*) FROM nodes")
