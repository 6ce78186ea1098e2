"""Who may start or stop the server, and who uses it: two locked files.

Both are `flock`s, which the kernel drops when their holder dies, however it dies. Nothing has to
be counted down, so a kill -9 cannot leave a count wrong.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from rota.clock import Clock

_POLL_INTERVAL = timedelta(milliseconds=20)


class Vanished(EmbeddedError):
    """The folder of the locks was removed while we were on our way to it."""


@asynccontextmanager
async def exclusive(
    path: Path, *, clock: Clock, wait_timeout: timedelta = timedelta(minutes=2)
) -> AsyncGenerator[None]:
    """Hold the file alone. Waits by asking again and again, so that the wait can be cancelled."""
    deadline = clock.monotonic() + wait_timeout.total_seconds()
    while (descriptor := _try_exclusive(path)) is None:
        if clock.monotonic() > deadline:
            raise EmbeddedError(
                f"waited {wait_timeout.total_seconds():.0f} s for another process that is starting "
                f"or stopping the embedded PostgreSQL and holds {path}"
            )
        await clock.sleep(_POLL_INTERVAL)
    try:
        yield
    finally:
        os.close(descriptor)


class Seat:
    """A user's share in the server, from `take` to `leave`. Take and leave it under `exclusive`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> Seat:
        """Join the users. Each seat is a lock of its own, also within one process."""
        descriptor = _open(path)
        try:
            # Never waits: the file is locked alone only by a leaver, and only under `exclusive`.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def leave(self) -> bool:
        """Give the seat up; whether it was the last one taken."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return False
        try:
            return _flock_alone(descriptor)
        finally:
            os.close(descriptor)


def is_used(path: Path) -> bool:
    """Whether any seat is taken. Ask under `exclusive`."""
    descriptor = _open(path)
    try:
        return not _flock_alone(descriptor)
    finally:
        os.close(descriptor)


def _try_exclusive(path: Path) -> int | None:
    descriptor = _open(path)
    if _flock_alone(descriptor) and _is_still(path, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _flock_alone(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file we locked is the one others will lock, not one that was just removed."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _open(path: Path) -> int:
    try:
        # Python closes it in programs we start, so the postmaster cannot inherit a seat.
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError as error:
        raise Vanished(f"expected the folder {path.parent}, found it removed") from error
    except OSError as error:
        raise EmbeddedError(f"expected to be able to lock {path}, got {error}") from error
