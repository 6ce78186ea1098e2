"""Child processes that end when their parent is gone, however it went, and what is said of an end.

A child inherits the reading end of a pipe that nobody writes to: it ends when the parent does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from rota.backoff import Backoff

if TYPE_CHECKING:
    from types import TracebackType

RESTARTS: Final = Backoff(
    first_interval=timedelta(milliseconds=500), max_interval=timedelta(seconds=30)
)
"""How long to wait before a child that ended by itself is started again."""
LIVED: Final = timedelta(seconds=30)
"""One that has lived so long began well: its end is the first failure."""

_VARIABLE: Final = "ROTA_LIFELINE"
_PR_SET_PDEATHSIG: Final = 1


class Lifeline:
    """The parent's end of it; one for any number of children."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.pipe()

    @property
    def descriptor(self) -> int:
        """To be passed on to children."""
        return self._ours

    @property
    def variables(self) -> dict[str, str]:
        """What a child finds it by, in its environment."""
        return {_VARIABLE: str(self._ours)}

    def close(self) -> None:
        os.close(self._theirs)
        os.close(self._ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def follow_parent(how: signal.Signals = signal.SIGTERM) -> None:
    """Send this process the signal when the parent that started it is gone.

    Does nothing in a process that was not started with a lifeline.
    """
    descriptor = os.environ.pop(_VARIABLE, None)
    if descriptor is None:
        return
    if how is signal.SIGKILL and sys.platform == "linux":
        # The kernel ends also a child that is frozen or too busy to notice. Not for a signal that
        # counts: a second SIGTERM means haste, and the thread below sends one as well.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(how))

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.read(int(descriptor), 1)
        os.kill(os.getpid(), how)

    threading.Thread(target=wait, name="rota lifeline", daemon=True).start()


def ended(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
