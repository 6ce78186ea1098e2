"""The latest outcomes of a schedule as a row of small bars. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rota.dashboard.shown import firing_id, tone
from rota.history.strips import LATEST, Outcome

STEP: Final = 7
WIDTH: Final = STEP * LATEST
HEIGHT: Final = 18


@dataclass(frozen=True, slots=True)
class Tick:
    """One outcome."""

    x: int
    tone: str
    title: str
    id: str


def ticks(outcomes: Sequence[Outcome]) -> list[Tick]:
    """The newest at the right; places without an outcome stay empty."""
    first = LATEST - len(outcomes)
    return [
        Tick(
            x=(first + at) * STEP,
            tone=tone(each.status),
            title=f"{each.status}, {each.scheduled_for:%d %b %H:%M:%S} UTC",
            id=firing_id(each.id),
        )
        for at, each in enumerate(outcomes)
    ]
