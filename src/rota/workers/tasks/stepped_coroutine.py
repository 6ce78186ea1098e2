"""A coroutine that somebody has begun by hand, and that waits for something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator


class SteppedCoroutine:
    """Goes on where the first step left off, when it is awaited; by the task that made that step.

    One step by hand tells whether a coroutine waits for anything at all. Most quick ones do not,
    and then all that is needed for the others was never made.
    """

    __slots__ = ("_running", "_waits_for")

    def __init__(self, running: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._running = running
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        running, waits_for = self._running, self._waits_for
        try:
            while True:
                try:
                    given = yield waits_for
                except BaseException as error:  # noqa: BLE001 - whatever it is, it is the coroutine's
                    waits_for = running.throw(error)
                else:
                    waits_for = running.send(given)
        except StopIteration as returned:
            return returned.value
