"""What every contestant's program shares: it does one piece of work and says what came of it.

`python -m bench.tasks.peers.NAME WORK WHERE COUNT [RATE]`, where WORK is one of

- `one`: enqueue COUNT tasks, one by one;
- `many`: enqueue COUNT tasks in bulk;
- `drain`: run COUNT tasks that wait, in one worker process;
- `late`: run COUNT tasks of which RATE are due each second, or all at one instant when it is 0.

The last line that it writes is a JSON object: the `seconds` it took, or `p50` and `p99` of the
milliseconds from an instant to the start of its task.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

AHEAD = 4.0
"""Seconds from the first instant's being set, beyond what entering the tasks takes."""


@dataclass(slots=True)
class Noted:
    """What the tasks note: when they were started, after their instants."""

    count: int
    late: list[float] = field(default_factory=list[float])
    began_at: float = 0.0
    ended_at: float = 0.0
    on_done: Callable[[], object] = lambda: None

    def start(self, due: float = 0.0) -> None:
        """One was started."""
        now = time.time()  # noqa: TID251 - as all contestants' clock
        if not self.late:
            self.began_at = now
        self.late.append(now - due)
        if len(self.late) >= self.count:
            self.ended_at = now
            self.on_done()

    def took(self, until: float | None = None) -> dict[str, float]:
        """From the first start to the last: how long a worker takes to begin is another matter."""
        return {"seconds": (until or self.ended_at) - self.began_at}

    def lateness(self) -> dict[str, float]:
        return percentiles(self.late)


def percentiles(late: list[float]) -> dict[str, float]:
    """In milliseconds, of lateness in seconds."""
    found = quantiles(late, n=100)
    return {"p50": found[49] * 1000, "p99": found[98] * 1000, "most": max(late) * 1000}


def now() -> float:
    return time.time()  # noqa: TID251 - as all contestants' clock


def instants(count: int, rate: int, *, entered_in: float) -> list[float]:
    """When each is due: so many a second, or all at once; the first when all can be entered."""
    first = float(int(now() + AHEAD + entered_in))
    return [first + (at / rate if rate else 0.0) for at in range(count)]


def main(works: dict[str, Callable[[str, int, int], dict[str, float]]]) -> None:
    """Do what the command line says."""
    work, where, count, *rest = sys.argv[1:]
    if work not in works:
        found: dict[str, object] = {"cannot": "has nothing like it"}
    else:
        found = dict(works[work](where, int(count), int(rest[0]) if rest else 0))
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    sys.stdout.flush()
