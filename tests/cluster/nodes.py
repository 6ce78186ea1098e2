"""Nodes of a cluster: `rota serve` as real processes that are killed, frozen and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

from tests.deadlines import patience

from rota.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from pathlib import Path
    from uuid import UUID

    from rota.db import Database

Role = Literal["api", "scheduler", "worker"]
T = TypeVar("T")

CLOCK = SystemClock()
POLL = timedelta(milliseconds=20)


@dataclass
class Process:
    """One start of `rota serve`, with one role."""

    name: str
    role: Role
    popen: subprocess.Popen[bytes]
    output: Path
    frozen: bool = False

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    @property
    def log(self) -> str:
        return self.output.read_text("utf-8")

    @property
    def url(self) -> str:
        """Where its API is."""
        return self.log.split("Rota is at ")[1].split()[0]

    def kill(self) -> None:
        """kill -9, and nothing of it is left."""
        self.popen.kill()
        self.popen.wait()

    def freeze(self) -> None:
        """SIGSTOP, and it stands still."""
        self.popen.send_signal(signal.SIGSTOP)
        # Only when the parent is told of it has the signal arrived.
        os.waitpid(self.pid, os.WUNTRACED)
        self.frozen = True

    def thaw(self) -> None:
        """SIGCONT."""
        self.popen.send_signal(signal.SIGCONT)
        self.frozen = False

    def terminate(self) -> None:
        """SIGTERM."""
        self.popen.terminate()

    async def exit_status(self) -> int:
        """Once it has ended."""
        await holds(lambda: not self.is_running, within=60)
        return self.popen.returncode


@dataclass
class Cluster:
    """Processes on one database. All that were started are ended with it."""

    home: Path
    dsn: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    processes: list[Process] = field(default_factory=list[Process])

    def begin(self, role: Role) -> Process:
        """Start one, without waiting for it."""
        name = f"{role}-{len(self.processes)}"
        home = self.home / name
        home.mkdir()
        # Nothing is inherited: a variable of the tests' own would be refused as unknown.
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ROTA_ALLOW_PRIVATE_TARGETS": "true",
            **self.variables,
        }
        argv = ["serve", "--role", role, "--dsn", self.dsn, "--port", "0"]
        output = home / "output"
        with output.open("wb") as file:
            popen = subprocess.Popen(
                [sys.executable, "-u", "-m", "rota", *argv],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        process = Process(name, role, popen, output)
        self.processes.append(process)
        return process

    async def start(self, *roles: Role) -> list[Process]:
        """Start these together, and return when all of them serve."""
        started = [self.begin(role) for role in roles]
        for each in started:
            await self.served(each)
        return started

    async def served(self, process: Process) -> None:
        """Return when it says that it runs."""

        def says_so() -> bool:
            assert process.is_running, f"{process.name} ended:\n{process.log}"
            return "Rota runs as" in process.log or "Rota is at" in process.log

        await holds(says_so, within=180)

    def of(self, role: Role) -> list[Process]:
        """Those of this role that run."""
        return [each for each in self.processes if each.role == role and each.is_running]

    def end(self) -> None:
        for each in self.processes:
            each.kill()


@asynccontextmanager
async def cluster(home: Path, dsn: str, **variables: str) -> AsyncGenerator[Cluster]:
    """A cluster for as long as the block lasts; what its nodes said is shown when it fails."""
    made = Cluster(home, dsn, variables)
    try:
        yield made
    except BaseException:
        for each in made.processes:
            _show(each)
        raise
    finally:
        made.end()


async def eventually(look: Callable[[], Awaitable[T | None]], *, within: float = 30.0) -> T:
    """What `look` finds, asked again until it finds something."""
    deadline = CLOCK.monotonic() + patience(within)
    while not (found := await look()):
        assert CLOCK.monotonic() < deadline, "it did not come in time"
        await CLOCK.sleep(POLL)
    return found


async def holds(condition: Callable[[], bool], *, within: float = 30.0) -> None:
    """Return when the condition does."""

    async def look() -> bool:
        return condition()

    await eventually(look, within=within)


async def database_now(db: Database) -> datetime:
    return await db.run(lambda tx: tx.fetch_value("SELECT clock_timestamp()"), read_only=True)


async def until(db: Database, instant: datetime) -> None:
    """Return when the database's clock has passed the instant."""
    while (left := instant - await database_now(db)) > timedelta():
        await CLOCK.sleep(left)


async def node_of(db: Database, process: Process) -> UUID:
    """The node that the process is, once it has appeared."""

    async def look() -> UUID | None:
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_value("SELECT id FROM nodes WHERE pid = $1", process.pid)

    return await eventually(look)


async def shards_of(db: Database) -> dict[UUID | None, int]:
    """How many shards each node holds, by leases that have not run out."""
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch(
            """SELECT CASE WHEN leased_until > clock_timestamp() THEN holder END AS holder,
                      count(*) AS shards
                 FROM leases GROUP BY 1"""
        )
    return {row["holder"]: row["shards"] for row in rows}


async def settled(db: Database, *processes: Process, within: float = 30.0) -> list[UUID]:
    """The nodes of these, once they hold all shards between them, each about its part."""
    nodes = [await node_of(db, each) for each in processes]

    async def look() -> bool:
        shards = await shards_of(db)
        total = sum(shards.values())
        most, least = -(-total // len(nodes)), total // len(nodes)
        held = [shards.get(node, 0) for node in nodes]
        # Rounded up, so that the last to come may have fewer.
        return sum(held) == total and max(held) <= most and min(held) >= least - len(nodes)

    await eventually(look, within=within)
    return nodes


def _show(process: Process) -> None:
    sys.stderr.write(f"--- {process.name}, status {process.popen.poll()}\n")
    sys.stderr.write("\n".join(process.log.splitlines()[-40:]) + "\n")
