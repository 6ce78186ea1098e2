"""A schedule's latest firings side by side: as high as they were long, in the tone of their end.
Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rota.dashboard import times
from rota.dashboard.charts import ceiling
from rota.dashboard.shown import firing_id, tone
from rota.history.firing import Firing

LATEST: Final = 100
WIDTH: Final = 800
HEIGHT: Final = 96
_LEAST: Final = 4.0
"""What took no time, or never began, is seen all the same."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One firing."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    title: str
    id: str


def bars(firings: Sequence[Firing], *, zone: str, now: datetime) -> tuple[list[Bar], float | None]:
    """The newest at the right, and what the height stands for in ms; None when nothing ran."""
    took = [each.duration_ms for each in firings if each.duration_ms is not None]
    top = ceiling(max(took)) if took and max(took) > 0 else None
    step = WIDTH / LATEST
    newest = firings[:LATEST]
    made = [
        _bar(each, WIDTH - (at + 1) * step, step, top or 1, zone=zone, now=now)
        for at, each in enumerate(newest)
    ]
    return made[::-1], top


def _bar(firing: Firing, x: float, step: float, top: float, *, zone: str, now: datetime) -> Bar:
    share = min((firing.duration_ms or 0) / top, 1)
    height = round(_LEAST + share * (HEIGHT - _LEAST), 2)
    took = "" if firing.duration_ms is None else f" after {times.duration(firing.duration_ms)}"
    many = f", {firing.slot_count} slots" if firing.slot_count > 1 else ""
    return Bar(
        x=round(x + step * 0.12, 2),
        y=round(HEIGHT - height, 2),
        width=round(step * 0.76, 2),
        height=height,
        tone=tone(firing.status),
        title=f"{firing.status}{took}: {times.clock(firing.scheduled_for, zone, now)}{many}",
        id=firing_id(firing.id),
    )
