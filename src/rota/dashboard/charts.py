"""Bars and lines from figures. Pure: numbers in, places in a picture out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rota.dashboard.shown import tone
from rota.history.activity import Minute

WIDTH: Final = 720
HEIGHT: Final = 120
_ORDER: Final = ("succeeded", "cancelled", "skipped", "missed", "dead")
"""From the ground up: what went wrong stands on top, where it is seen."""
_NICE: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a bar."""

    x: float
    y: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True, slots=True)
class Column:
    """What stands above one minute, and what to say about it."""

    x: float
    width: float
    bars: tuple[Bar, ...]
    title: str


def ceiling(value: float) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    for nice in _NICE:
        if nice * power >= value:
            return nice * power
    return 10 * power


def columns(minutes: Sequence[Minute], *, top: float | None = None) -> list[Column]:
    """The minutes side by side, each a stack of its statuses."""
    top = top or ceiling(max((each.total for each in minutes), default=0))
    step = WIDTH / max(len(minutes), 1)
    return [_column(each, at * step, step, top) for at, each in enumerate(minutes)]


def _column(minute: Minute, x: float, step: float, top: float) -> Column:
    bars: list[Bar] = []
    y = float(HEIGHT)
    for status in _ORDER:
        count = minute.counts.get(status, 0)
        if count:
            # At least a hair: one dead firing among ten thousand must be seen.
            height = max(count / top * HEIGHT, 1.5)
            y -= height
            bars.append(Bar(_r(x + 1), _r(y), _r(step - 2), _r(height), tone(status)))
    words = ", ".join(f"{minute.counts[s]} {s}" for s in _ORDER if minute.counts.get(s))
    return Column(_r(x), _r(step), tuple(bars), f"{minute.at:%H:%M} UTC: {words or 'nothing'}")


def lines(minutes: Sequence[Minute], *, top: float | None = None) -> tuple[str, str]:
    """The lateness of the middle one and of one in a hundred, as points of two lines."""
    top = top or late_top(minutes)
    step = WIDTH / max(len(minutes), 1)
    known = [(at, each.late_ms) for at, each in enumerate(minutes) if each.late_ms is not None]
    return (
        _points([(at, late[0]) for at, late in known], step, top),
        _points([(at, late[1]) for at, late in known], step, top),
    )


def late_top(minutes: Iterable[Minute]) -> float:
    return ceiling(max((each.late_ms[1] for each in minutes if each.late_ms), default=0))


def _points(values: Iterable[tuple[int, float]], step: float, top: float) -> str:
    return " ".join(
        f"{_r(at * step + step / 2)},{_r(HEIGHT - min(value / top, 1) * (HEIGHT - 4) - 2)}"
        for at, value in values
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """So many schedules are due in this part of the time to come."""

    x: float
    width: float
    height: float
    count: int
    title: str


def timeline(
    due: Sequence[datetime], *, now: datetime, span: timedelta, parts: int = 60
) -> list[Mark]:
    """What is due, by parts of the span."""
    step = span / parts
    counts = [0] * parts
    for instant in due:
        place = (instant - now) // step
        if place < parts:
            counts[max(place, 0)] += 1
    top = ceiling(max(counts, default=0))
    width = WIDTH / parts
    return [
        Mark(
            _r(at * width),
            _r(width - 2),
            _r(max(count / top * 48, 2)) if count else 0,
            count,
            f"{now + at * step:%H:%M} UTC: {count} due",
        )
        for at, count in enumerate(counts)
    ]


def _r(value: float) -> float:
    return round(value, 2)
