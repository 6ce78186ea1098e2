"""Memory over two hundred thousand firings: what is done with is let go of."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from bench.delivery.drain import drain, fill
from bench.frame.results import Figure, Goal, Row

if TYPE_CHECKING:
    from bench.core.stand import Stand
    from bench.frame.measure import Session

TITLE = "Memory after 200,000 firings"
STEP = 20_000
STEPS = 10
AT_MOST = 1.1

_STATM = Path("/proc/self/statm")


async def rows(session: Session, stand: Stand, port: int) -> list[Row]:
    """Of this process, which is the worker's: after every twentieth thousand beside the first."""
    sizes: list[float] = []
    for number in range(1, STEPS + 1):
        session.at(TITLE, f"{number * STEP:,} of {STEP * STEPS:,}")
        await fill(stand, port, STEP)
        await drain(stand, STEP)
        gc.collect()
        sizes.append(_megabytes())
    grown = max(sizes[1:]) / sizes[0]
    row = Row(
        TITLE,
        f"times the memory after {STEP:,}",
        Figure("Rota", (grown,)),
        goal=Goal(AT_MOST),
        note=f"Resident memory after each {STEP:,}: {', '.join(f'{s:.0f}' for s in sizes)} MB.",
        better="less",
    )
    session.tell(row)
    return [row]


def _megabytes() -> float:
    """Resident memory; its highest so far where the system does not tell more."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20
