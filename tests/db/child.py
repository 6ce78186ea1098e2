"""Real processes that use an embedded server, to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rota.clock import SystemClock
from rota.db import Database, embedded
from rota.db.embedded import binaries

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from pathlib import Path

# Everything is imported, and the event loop's thread pool woken, before the user changes: the
# interpreter may live where the other user cannot read.
_CODE = """if True:
    import asyncio, os, sys, socket, subprocess, shutil, encodings.idna, encodings.ascii
    import concurrent.futures.thread
    from pathlib import Path
    from rota.db import embedded, driver
    from rota.db.embedded.binaries import Binaries
    data_dir, uid, root, version = sys.argv[1:]
    if uid:
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))
    async def main():
        binaries = Binaries(Path(root), version)
        server = await embedded.start(
            Path(data_dir), binaries=binaries, extra_settings={"fsync": "off"}
        )
        print(server.dsn, flush=True)
        sys.stdin.readline()
        await server.stop()
    asyncio.run(main())
"""


@dataclass
class Child:
    """A process that joins the server of a data folder, and leaves it when told to."""

    process: subprocess.Popen[str]

    @classmethod
    def begin(
        cls,
        data_dir: Path,
        *,
        uid: int | None = None,
        programs: binaries.Binaries | None = None,
    ) -> Self:
        """Start it, without waiting; `uid` is for root to give."""
        found = programs or binaries.find()
        argv = [str(data_dir), "" if uid is None else str(uid), str(found.root), found.version]
        process = subprocess.Popen(
            [sys.executable, "-c", _CODE, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return cls(process)

    def ready(self) -> str:
        """The DSN, once the server answers."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            _, errors = self.process.communicate()
            raise AssertionError(f"the child ended: {errors}")
        return line

    def leave(self) -> None:
        """Let it leave the server and end."""
        _, errors = self.process.communicate("leave\n")
        assert self.process.returncode == 0, errors

    def kill(self) -> None:
        """kill -9"""
        self.process.kill()
        self.process.communicate()

    def kill_group(self) -> None:
        """kill -9 for all that Ctrl-C in its terminal would reach: its whole process group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def error(self) -> str:
        """What it said when it failed."""
        _, errors = self.process.communicate()
        assert self.process.returncode != 0
        return errors


async def until(condition: Callable[[], bool], *, pause: timedelta) -> None:
    """Return when it holds; pytest-timeout ends a test that waits in vain."""
    while not condition():
        await SystemClock().sleep(pause)


async def ask(dsn: str, statement: str) -> object:
    """One value from the database."""
    async with await Database.open(dsn) as db, db.transaction() as tx:
        return await tx.fetch_value(statement)  # pyright: ignore[reportArgumentType]


async def tell(data_dir: Path, statement: str) -> object:
    """`ask`, as a user of the server that comes and goes."""
    async with await embedded.start(data_dir, extra_settings={"fsync": "off"}) as server:
        return await ask(server.dsn, statement)
