"""Herds: the seconds in which the most schedules are due at once, and what would thin them out.
Pure.

A herd that comes back (every midnight, every hour) is one herd, however often it comes: seconds in
which the very same schedules are due have the same mark.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from rota import timers
from rota.dashboard import forecast_slots as slots
from rota.triggers.civil import instant_at
from rota.triggers.interval import Interval
from rota.triggers.preview import innermost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.dashboard.forecast import Counted, Same
    from rota.schedules.ahead import Plan

MOST: Final = 10
BUDGET: Final = 3_000_000
"""Steps that looking for herds may take, an interval's slot being one."""
_WALK: Final = 10
"""What a slot costs that has to be found."""
_CANDIDATES: Final = 2_000
_NAMED: Final = 5
_CROWD: Final = 10
"""Fewer than this are no herd that is worth thinning out."""
_CALM: Final = 20
"""Firings a second that a herd should be thinned out to."""
_NICE: Final = (10, 30, 60, 120, 300, 600, 900, 1_800, 3_600)
_MASK: Final = 2**64 - 1
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Jitter that would thin a herd out."""

    movable: int
    """How many of the herd have no jitter and no fire window yet."""
    jitter_seconds: int
    average: float
    """How many a second would be due then,"""
    most: int
    """and in the busiest of those seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Herd:
    """Schedules that are due in the same second."""

    at: datetime
    """When first."""
    count: int
    times: int
    """How often within the range the same ones meet."""
    rhythm: str
    plans: Sequence[Plan]
    """Some of them."""
    suggestion: Suggestion | None


@dataclass(slots=True)
class _Field:
    """Every second of the range: how many are due in it, and a mark of which they are."""

    counts: array[int]
    marks: array[int]
    everywhere: int = 0
    """How many are due in every second."""


def herds(counted: Counted, *, scale: float = 1.0) -> list[Herd]:
    """The largest, the largest first; `scale` is how many schedules each of those counted is."""
    field, background = _sow(counted)
    found: list[Herd] = []
    seen: set[int] = set()
    for at in nlargest(_CANDIDATES, range(len(field.counts)), key=field.counts.__getitem__):
        mark = field.marks[at]
        if mark in seen or field.counts[at] < 2:
            continue
        seen.add(mark)
        found.append(_herd(counted, field, background, at, scale))
        if len(found) == MOST:
            break
    return sorted(found, key=lambda herd: -herd.count)


def _sow(counted: Counted) -> tuple[_Field, list[Same]]:
    """The field, and those that are due too often to be walked: they are counted where it matters.

    The rarest first: what is due all the time is no herd.
    """
    size = counted.range.end - counted.range.first
    field = _Field(array("Q", bytes(8 * size)), array("Q", bytes(8 * size)))
    background: list[Same] = []
    left = BUDGET
    for number, same in enumerate(sorted(counted.sames, key=lambda each: each.total)):
        is_even = isinstance(innermost(same.trigger), Interval)
        cost = same.total * (1 if is_even else _WALK)
        if same.total == size:
            # Every second: arithmetic, and no step at all.
            field.everywhere += len(same.plans)
        elif cost > left or (not is_even and same.total >= slots.MOST_WALKED):
            background.append(same)
        else:
            left -= cost
            _add(field, counted, same, _mark(number))
    return field, background


def _add(field: _Field, counted: Counted, same: Same, mark: int) -> None:
    counts, marks, weight = field.counts, field.marks, len(same.plans)
    first = counted.range.first
    for second in counted.walks.due(same):
        at = second - first
        counts[at] += weight
        marks[at] = marks[at] + mark & _MASK


def _mark(number: int) -> int:
    """Sums of these are the same for the same summands, and for no others that one will meet."""
    return int.from_bytes(blake2b(number.to_bytes(8, "big"), digest_size=8).digest(), "big")


def _herd(
    counted: Counted, field: _Field, background: Sequence[Same], at: int, scale: float
) -> Herd:
    second = counted.range.first + at
    there = [same for same in counted.sames if _is_due(counted, same, second)]
    also = sum(len(each.plans) for each in background if _is_due(counted, each, second))
    instants = _times(field.marks, field.marks[at])
    plans = [plan for same in there for plan in same.plans]
    return Herd(
        at=instant_at(second),
        count=round((field.counts[at] + field.everywhere + also) * scale),
        times=len(instants),
        rhythm=rhythm([counted.range.first + each for each in instants]),
        plans=sorted(plans, key=lambda plan: plan.name)[:_NAMED],
        suggestion=_suggestion(there, field, at, second, scale),
    )


def _is_due(counted: Counted, same: Same, second: int) -> bool:
    if same.left is not None:
        return second in counted.walks.due(same)
    return slots.count(same.trigger, second, second + 1, offset=same.offset) > 0


def _times(marks: array[int], mark: int) -> list[int]:
    found: list[int] = []
    try:
        while True:
            found.append(marks.index(mark, found[-1] + 1 if found else 0))
    except ValueError:
        return found


def rhythm(seconds: Sequence[int]) -> str:
    """When a herd meets, in a few words."""
    first = instant_at(seconds[0])
    if len(seconds) == 1:
        return "once"
    if len({each % 86_400 for each in seconds}) == 1:
        often = "every day" if len(seconds) >= 7 else f"on {len(seconds)} days"
        return f"{often} at {first:%H:%M:%S} UTC"
    if len({each % 3_600 for each in seconds}) == 1 and len(seconds) >= 167:
        return f"every hour at {first:%M:%S}"
    if len({each % 60 for each in seconds}) == 1 and len(seconds) >= 167 * 60:
        return f"every minute at second {first:%S}"
    return f"{len(seconds):,} times in the week"


def _suggestion(
    there: Sequence[Same], field: _Field, at: int, second: int, scale: float
) -> Suggestion | None:
    still = [same for same in there if not same.plans[0].window]
    plans = [plan for same in still for plan in same.plans]
    if len(plans) * scale < _CROWD:
        return None
    room = min(_gap(same, second) for same in still) / 2
    fitting = [each for each in _NICE if each <= room]
    if not fitting:
        return None
    enough = [each for each in fitting if len(plans) * scale / each <= _CALM]
    jitter = enough[0] if enough else fitting[-1]
    return Suggestion(
        movable=round(len(plans) * scale),
        jitter_seconds=jitter,
        average=len(plans) * scale / jitter,
        most=_most_after(plans, field, at, jitter, scale),
    )


def _gap(same: Same, second: int) -> float:
    """Seconds until the same schedules' next slot: jitter must not carry one into the next."""
    after = same.trigger.next_after(instant_at(second + 1) - slots.TICK)
    return float("inf") if after is None else (after - instant_at(second)).total_seconds()


def _most_after(plans: Sequence[Plan], field: _Field, at: int, jitter: int, scale: float) -> int:
    """What the busiest second would have, by the offsets that the schedules would really get."""
    window = timedelta(seconds=jitter)
    bins = [0] * jitter
    for plan in plans:
        bins[timers.offset(plan.id, window) // _SECOND] += 1
    if scale > 1:
        # A few drawn from many lie less evenly than the many do: add their usual spread instead.
        mean = len(plans) * scale / jitter
        return round(mean + 3 * mean**0.5)
    bins[0] -= len(plans)
    around = field.counts[at : at + jitter]
    return max(own + other for own, other in zip(bins, around, strict=False)) + field.everywhere
