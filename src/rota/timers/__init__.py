"""Timers: the next slot of every schedule, and when it is due.

A schedule that has a slot to come has one timer. While the schedule is paused its timer is
*parked*: due never, and still knowing the first slot that nothing is recorded for and how often it
has fired. A schedule without any slot left has no timer.
"""

from __future__ import annotations

from rota.timers.arm import SOON, arm, disarm, lock, lock_all, park, touch, touch_all, uncount
from rota.timers.spread import offset
from rota.timers.timer import Armed, Timer

__all__ = [
    "SOON",
    "Armed",
    "Timer",
    "arm",
    "disarm",
    "lock",
    "lock_all",
    "offset",
    "park",
    "touch",
    "touch_all",
    "uncount",
]
