"""A server to be asked, and the database behind it."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rota.clock import SystemClock
from rota.db import Conflict, Session, driver, embedded
from rota.db.transient import as_temporary
from rota.runtime import files

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from bench.frame.measure import Session as Bench
    from rota.db.driver import Connection

CLIENTS = 16
_LONG = timedelta(minutes=10)
_START_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """Where the server is, and how to reach its tables past it."""

    port: int
    key: str
    dsn: str
    home: Path
    """The data folder of the server."""
    tenant_id: UUID
    admin: Connection
    """For setting up; may take its time."""

    async def tidy(self) -> None:
        """As autovacuum would leave the tables after a while; nothing of it falls into a run."""
        for table in ("schedules", "timers", "schedule_words"):
            await self.admin.execute(f"VACUUM ANALYZE {table}")
        await self.admin.execute("CHECKPOINT")

    async def empty(self) -> None:
        """No schedules."""
        statement = "TRUNCATE schedules, timers, schedule_words, wordless CASCADE"
        while True:
            try:
                await self.admin.execute(statement)
            except driver.ERRORS as error:
                # The server's own loops read these tables, each in its own order.
                if not isinstance(as_temporary(error), Conflict):
                    raise
            else:
                return


@asynccontextmanager
async def stand(session: Bench) -> AsyncGenerator[Stand]:
    """A server that is gone after."""
    session.at("set-up", "starting a server")
    with tempfile.TemporaryDirectory(prefix="rota-bench-", ignore_cleanup_errors=True) as folder:
        async with AsyncExitStack() as stack:
            home = Path(folder) / "data"
            server = await embedded.start(home)
            stack.push_async_callback(embedded.remove, home)
            await stack.enter_async_context(server)
            url = await _serve(stack, home)
            admin = await driver.connect(server.dsn, Session(statement_timeout=_LONG))
            stack.push_async_callback(admin.close)
            key = files.read(home, files.KEY)
            assert key is not None
            yield Stand(
                port=int(url.rpartition(":")[2]),
                key=key,
                dsn=server.dsn,
                home=home,
                tenant_id=await admin.fetchval("SELECT id FROM tenants WHERE name = 'default'"),
                admin=admin,
            )


async def _serve(stack: AsyncExitStack, home: Path) -> str:
    """Start `rota serve` on the folder; its address."""
    program = [sys.executable, "-m", "rota", "serve", "--data-dir", str(home), "--port", "0"]
    process = await asyncio.create_subprocess_exec(
        *program, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    stack.push_async_callback(_end, process)
    async with asyncio.timeout(_START_SECONDS):
        while (url := files.read(home, files.URL)) is None:
            await SystemClock().sleep(timedelta(milliseconds=100))
    return url


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    await process.wait()
