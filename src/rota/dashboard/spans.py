"""When each attempt of a firing ran, beside the others. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rota.dashboard.shown import tone
from rota.history.firing import Attempt

WIDTH = 100.0


@dataclass(frozen=True, slots=True)
class Span:
    """A bar from an attempt's start to its end, in hundredths of the whole."""

    attempt: int
    x: float
    width: float
    tone: str


def spans(attempts: Sequence[Attempt]) -> list[Span]:
    """The attempts on one line of time: from the first start to the last end."""
    if not attempts:
        return []
    first = min(each.started_at for each in attempts)
    whole = max(max(each.finished_at for each in attempts) - first, timedelta(milliseconds=1))
    found: list[Span] = []
    for each in attempts:
        # At least as wide as can be seen, and within the line.
        width = max((each.finished_at - each.started_at) / whole * WIDTH, 0.8)
        x = min((each.started_at - first) / whole * WIDTH, WIDTH - width)
        found.append(Span(each.attempt, round(max(x, 0.0), 2), round(width, 2), tone(each.outcome)))
    return found
