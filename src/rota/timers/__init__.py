"""NEXT: the next slot of every schedule, and the instant it is due.

A schedule with a slot to come has one timer. While the schedule is paused its timer is *suspended*:
it is due never, and still knows the first slot without an outcome and how often it has fired. A
schedule without any slot left has no timer.

`store` owns the table `timers`: every statement that writes it is there.
"""

from __future__ import annotations

from rota.timers.jitter import offset
from rota.timers.store import (
    SOON,
    arm,
    bump,
    disarm,
    lags,
    lock,
    reversion,
    suspend,
    unfire,
)
from rota.timers.timer import Armed, Timer

__all__ = [
    "SOON",
    "Armed",
    "Timer",
    "arm",
    "bump",
    "disarm",
    "lags",
    "lock",
    "offset",
    "reversion",
    "suspend",
    "unfire",
]
