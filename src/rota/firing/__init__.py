"""DECIDE: due timers become rows in the queue, once.

`misfire`, `overlap` and `count` are pure; `plan` puts them together into what should happen to one
timer; `fire` makes it happen, for a thousand timers in one fenced transaction; `loop` looks for due
timers, a little ahead of time, and never waits for what they set off.
"""

from __future__ import annotations

from rota.firing.events import (
    CaughtUp,
    FallingBehind,
    FenceRefused,
    PassDone,
    PassFailed,
    PlanFailed,
)
from rota.firing.look import Pass, Tally
from rota.firing.loop import CHANNEL, Scheduler, Settings

__all__ = [
    "CHANNEL",
    "CaughtUp",
    "FallingBehind",
    "FenceRefused",
    "Pass",
    "PassDone",
    "PassFailed",
    "PlanFailed",
    "Scheduler",
    "Settings",
    "Tally",
]
