"""How long a test waits, and how late something may be, on the machine that the test runs on.

- `patience` is a deadline that only bounds a hang. It costs nothing while tests pass, so it is
  generous, and longer on a slow or busy machine. It never asserts that something is punctual.
- `Strain` is for tests that do: how long, of the time that was measured, programs of this machine
  waited for a core or for the disk. What is late by no more than that may have had to wait too.
"""

from __future__ import annotations

import functools
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

LEAST: Final = 30.0
_ROUNDS: Final = 100_000
_USUAL: Final = 0.01
"""The CPU seconds that `_ROUNDS` take on a machine that is not slow."""
_PRESSURE: Final = Path("/proc/pressure")


def patience(seconds: float) -> float:
    """How many seconds to wait for what takes a quiet machine far less than `seconds`."""
    return max(seconds, LEAST) * slowness() * crowding()


def crowding() -> float:
    """How many programs share a core at present; at least 1."""
    return max(1.0, os.getloadavg()[0] / _cores())


@functools.cache
def slowness() -> float:
    """How much slower than usual this machine is, other programs aside; at least 1."""
    best = min(_cpu_seconds() for _ in range(3))
    return max(1.0, best / _USUAL)


class Strain:
    """How long the machine has been short of something since this was made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._pressure = _stalled()
        self._crowded = crowding() > 1

    @property
    def seconds(self) -> float:
        """For so long some program waited for a core, for memory or for the disk."""
        took = time.perf_counter() - self._began
        now = _stalled()
        if now is not None and self._pressure is not None:
            return now - self._pressure
        # Without the kernel's account: with more to do than cores, it was short all along.
        return took if self._crowded or crowding() > 1 else 0.0


def _stalled() -> float | None:
    """The kernel's account of it, in seconds; None where it keeps none (PSI, and stolen time)."""
    total = 0.0
    try:
        for each in ("cpu", "io", "memory"):
            some = (_PRESSURE / each).read_text("ascii").splitlines()[0]
            total += int(some.rpartition("total=")[2]) / 1_000_000
    except OSError:
        return None
    with suppress(OSError, IndexError):
        stolen = int(Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[8])
        total += stolen / os.sysconf("SC_CLK_TCK") / _cores()
    return total


def _cores() -> int:
    return os.cpu_count() or 1


def _cpu_seconds() -> float:
    began = time.thread_time()
    total = 0
    for each in range(_ROUNDS):
        total += each % 7
    return time.thread_time() - began
