"""Starting, sharing and leaving the embedded server."""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rota.clock import Clock, SystemClock
from rota.db import driver
from rota.db.embedded import binaries as programs
from rota.db.embedded import cluster, layout, password, postmaster, settings, sockets
from rota.db.embedded.layout import SHELTER, Home
from rota.db.embedded.locks import Seat, Vanished, exclusive, is_used
from rota.db.embedded.process import in_thread
from rota.db.session import Session
from rota.db.transient import describe, is_session_gone
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rota.db.driver import Connection
    from rota.db.embedded.binaries import Binaries

_POLL_INTERVAL = timedelta(milliseconds=20)
_CRASH_GRACE = timedelta(seconds=10)


class Embedded:
    """A share in a running server: made by `start`, given up by `stop`."""

    def __init__(self, starter: _Starter, seat: Seat, dsn: str) -> None:
        self._starter = starter
        self._seat = seat
        self.dsn = dsn
        """How to connect to the database named rota. It names the file of the password, and does
        not hold it."""

    @property
    def pgdata(self) -> Path:
        """Where the data is."""
        return self._starter.home.pgdata

    async def ensure_running(self) -> None:
        """Start the server again if it died. `dsn` stays as it was."""
        async with exclusive(self._starter.home.lock, clock=self._starter.clock):
            await self._starter.bring_up()

    async def stop(self) -> None:
        """Leave; the last one to leave stops the server. May be called twice."""
        home = self._starter.home
        async with exclusive(home.lock, clock=self._starter.clock):
            if self._seat.leave():
                await postmaster.stop(home, self._starter.binaries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def start(
    data_dir: Path,
    *,
    extra_settings: Mapping[str, str] | None = None,
    binaries: Binaries | None = None,
    shelter: Path = SHELTER,
    start_timeout: timedelta = timedelta(seconds=60),
    clock: Clock | None = None,
) -> Embedded:
    """Join the server of a data folder, started if it does not run, and wait until it answers.

    Any number of processes may use one data folder. A server left behind by processes that were
    killed is adopted as it is; `extra_settings` (names and values of PostgreSQL settings) count
    only when it is this call that starts the server.
    """
    clock = clock or SystemClock()
    binaries = binaries or programs.find()
    while True:
        home = layout.settle(data_dir, shelter=shelter)
        usable = await _usable(binaries, home, shelter, clock)
        starter = _Starter(home, usable, extra_settings or {}, start_timeout, clock)
        with contextlib.suppress(Vanished):
            return await _join(starter)
        # Another process removed the cluster just now: find a place again.


async def _join(starter: _Starter) -> Embedded:
    home = starter.home
    async with exclusive(home.lock, clock=starter.clock):
        if not home.server.exists():
            raise Vanished(f"expected the folder {home.server}, found it removed")
        seat = Seat.take(home.users)
        try:
            return Embedded(starter, seat, await starter.bring_up())
        except BaseException:
            if seat.leave():
                await postmaster.stop(home, starter.binaries)
            raise


async def remove(data_dir: Path, *, shelter: Path = SHELTER, clock: Clock | None = None) -> None:
    """Delete the cluster of a data folder with all its data; refuses while someone uses it."""
    clock = clock or SystemClock()
    home = layout.find(data_dir, shelter=shelter)
    if home is None:
        return
    binaries = await _usable(programs.find(), home, shelter, clock)
    async with exclusive(home.lock, clock=clock):
        if is_used(home.users):
            raise EmbeddedError(f"expected nobody to use the server of {data_dir}, got a user")
        await postmaster.stop(home, binaries)
        await in_thread(lambda: _delete(home, data_dir))


class _Starter:
    """All that it takes to bring a cluster's server up."""

    def __init__(
        self,
        home: Home,
        binaries: Binaries,
        extra: Mapping[str, str],
        timeout: timedelta,
        clock: Clock,
    ) -> None:
        self.home = home
        self.binaries = binaries
        self.clock = clock
        self._extra = extra
        self._timeout = timeout

    async def bring_up(self) -> str:
        """Return a DSN once the server answers, starting it first if need be. Under the lock."""
        password.ensure(self.home)
        await cluster.ensure(self.home, self.binaries, durable=settings.is_durable(self._extra))
        begun = self.clock.monotonic()
        crashed = postmaster.read_pid_file(self.home) is not None
        started: int | None = None
        while (folder := await self._answering()) is None:
            waited = timedelta(seconds=self.clock.monotonic() - begun)
            if waited > self._timeout:
                raise self._did_not_start(f"did not answer in {waited.total_seconds():.0f} s")
            if not self._is_coming(started):
                # The last processes of a server that was killed hold its memory for a moment, and
                # until they are gone PostgreSQL rightly refuses to start another.
                if started is not None and not (crashed and waited < _CRASH_GRACE):
                    raise self._did_not_start("stopped at once")
                started = await self._launch()
            await self.clock.sleep(_POLL_INTERVAL)
        if not password.is_settled(self.home):
            await self._require_password(folder)
        return sockets.dsn(folder, self.home.pgpass)

    async def _require_password(self, folder: Path) -> None:
        """Have a server that was made to trust whoever reaches its socket ask for the password.

        A kill on the way leaves it for the next start, which does all of it again.
        """
        connection = await _connect(folder, self.home)
        try:
            await connection.execute(
                f"ALTER ROLE {password.SUPERUSER} PASSWORD '{password.verifier(self.home)}'"
            )
            await cluster.write_hba(self.home)
            before = await connection.fetchval("SELECT pg_conf_load_time()")
            await connection.execute("SELECT pg_reload_conf()")
            while await connection.fetchval("SELECT pg_conf_load_time()") == before:
                await self.clock.sleep(_POLL_INTERVAL)
        finally:
            await connection.close(timeout=5.0)
        if settings.is_durable(self._extra):
            await in_thread(os.sync)
        password.settle(self.home)

    async def _launch(self) -> int:
        folder = sockets.socket_dir(self.home)
        return await postmaster.start(
            self.home, self.binaries, socket_dir=folder, extra=self._extra
        )

    async def _answering(self) -> Path | None:
        """The folder of its socket when a server of this cluster answers.

        Asked before anything else: in another container the server's process cannot be seen, but
        its socket can.
        """
        found = postmaster.read_pid_file(self.home)
        if found is None or found.socket_dir is None:
            return None
        return found.socket_dir if await _answers(found.socket_dir, self.home) else None

    def _is_coming(self, started: int | None) -> bool:
        """Whether to wait: a server is starting, recovering, or not done with stopping."""
        if started is not None and postmaster.is_starting(started):
            return True
        return postmaster.is_running(self.home)

    def _did_not_start(self, what: str) -> EmbeddedError:
        words = postmaster.last_words(self.home)
        return EmbeddedError(f"the server at {self.home.pgdata} {what}; it wrote:\n{words}")


async def _usable(binaries: Binaries, home: Home, shelter: Path, clock: Clock) -> Binaries:
    """Programs that the server's account can run: as root, a copy that is not below /root."""
    if home.account.is_self:
        return binaries
    layout.make_shelter(shelter)
    async with exclusive(shelter / "lock", clock=clock):
        copy = await in_thread(lambda: programs.copy_into(shelter, binaries))
    if not layout.reachable(copy.bin, home.account):
        raise EmbeddedError(
            f"expected uid {home.account.uid} to be able to reach {copy.bin}, "
            "got a parent folder that it may not pass"
        )
    return copy


async def _connect(folder: Path, home: Home) -> Connection:
    session = Session(application_name="rota embedded", connect_timeout=timedelta(seconds=5))
    dsn = sockets.dsn(folder, password.file(home), database="postgres")
    return await driver.connect(dsn, session)


async def _answers(folder: Path, home: Home) -> bool:
    """Whether the server takes connections; also sees to it that our database exists."""
    try:
        connection = await _connect(folder, home)
    except driver.WrongPassword as error:
        raise EmbeddedError(
            f"expected the password of the server at {home.pgdata} in {home.pgpass}, found another "
            "or none: put that file back from a backup. If there is none, stop the server, write "
            f"`local all all trust` into {home.pgdata / 'pg_hba.conf'}, remove {home.pgpass} and "
            "start again: a new password is made and asked for"
        ) from error
    except driver.ERRORS as error:
        if is_session_gone(error):
            return False
        raise EmbeddedError(f"the server at {folder} refused: {describe(error)}") from error
    try:
        known = await connection.fetchval(
            "SELECT true FROM pg_database WHERE datname = $1", sockets.DATABASE
        )
        if not known:
            await connection.execute("CREATE DATABASE rota")
    finally:
        await connection.close(timeout=5.0)
    return True


def _delete(home: Home, data_dir: Path) -> None:
    # The word first: a cluster half deleted must not be found again.
    layout.forget(data_dir)
    password.forget(home)
    for folder in (home.socket, home.server):
        if folder.exists():
            shutil.rmtree(folder)
    for file in (home.control / "data-dir", home.users, home.lock):
        file.unlink(missing_ok=True)
    if home.control != data_dir.absolute():
        home.control.rmdir()
