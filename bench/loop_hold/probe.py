"""Measures how long an event loop is held: the CPU time between two looks at its sockets.

CPU time of the loop's own thread, and not the wall clock: what other programs take of a shared core
does not count.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import traceback
from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import FrameType
    from typing import Any, TypeVar

    T = TypeVar("T")

_SUSPICIOUS_SECONDS = 0.005
_FRAMES = 6


@dataclass(frozen=True, slots=True)
class Hold:
    """The longest time that the loop was held, and where the loop's thread was seen in it."""

    seconds: float
    place: str


class Probe(selectors.DefaultSelector):
    """The selector of a loop: between two calls of `select`, the loop runs what is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        self._began: float | None = None
        self._longest = 0.0
        self._place = ""
        self._stack: list[str] = []

    def longest(self) -> Hold:
        """The longest hold since the last reset, the one that runs now left out."""
        return Hold(self._longest, self._place)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._end()
        try:
            return super().select(timeout)
        finally:
            self._began = thread_time()

    def _end(self) -> None:
        if self._began is None:
            return
        seconds = thread_time() - self._began
        self._began = None
        if seconds > self._longest:
            self._longest, self._place = seconds, " < ".join(self._stack)
        self._stack = []

    def notice(self, stack: list[str]) -> None:
        """Where the thread is, while the loop is held."""
        if self._began is not None:
            self._stack = stack


def _frames() -> dict[int, FrameType]:
    return sys._current_frames()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - documented


class Witness(threading.Thread):
    """Looks from time to time where the loop's thread is: only for messages, never a figure."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(name="loop hold witness", daemon=True)
        self._probe = probe
        self._watched = threading.get_ident()
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_SUSPICIOUS_SECONDS):
            frame = _frames().get(self._watched)
            if frame is not None:
                found = traceback.extract_stack(frame)[::-1]
                ours = [f"{each.name}:{each.lineno}" for each in found if "/rota/" in each.filename]
                self._probe.notice(ours[:_FRAMES] or [each.name for each in found[:_FRAMES]])

    def end(self) -> None:
        self._ended.set()
        self.join()


def run(work: Coroutine[Any, Any, T], probe: Probe, *, witness: bool = True) -> T:
    """Run on a loop that the probe measures."""
    watcher = Witness(probe) if witness else None
    if watcher is not None:
        watcher.start()
    try:
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(probe)) as runner:
            return runner.run(work)
    finally:
        if watcher is not None:
            watcher.end()
