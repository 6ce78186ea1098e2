"""Functions that child processes of the tests run: found by their import path."""

from __future__ import annotations

import os
import signal
import threading

from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks
from rota.workers.tasks.exceptions import Retry


def add(a: int, b: int) -> int:
    return a + b


async def add_async(a: int, b: int) -> int:
    return a + b


def where() -> int:
    return os.getpid()


def fail() -> None:
    raise ValueError("in the child")


def again() -> None:
    raise Retry("later", after="1m")


def leave() -> None:
    raise SystemExit(3)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang(started: str) -> None:
    with open(started, "w") as file:  # noqa: PTH123 - a child of a test
        file.write(str(os.getpid()))
    threading.Event().wait()


def tell(context: Context) -> str:
    context.progress(0.5, "half")
    context.heartbeat(extend="2h")
    return f"{context.job_type} {context.attempt}"
