"""A program with tasks, for the tests of `rota worker`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rota import Rota

rota = Rota(app="workshop", stop_grace=10)


@rota.task(name="who")
def who(name: str, linger: float = 0) -> int:
    """Says in which process it runs; and stays there for a while."""
    Path(os.environ["LEDGER"], name).write_text(str(os.getpid()), "utf-8")
    time.sleep(linger)  # noqa: TID251 - a task that takes its time
    return os.getpid()
