"""DECIDE: due timers become rows in the queue, once.

`misfire` and `queue.overlap` are pure; `plan` combines them into what happens to one timer; `fire`
carries the plans of a thousand timers out in one fenced statement; `scheduler` reads due timers, a
little ahead of time, and never waits for what they set off.
"""

from __future__ import annotations

from rota.firing.events import (
    CaughtUp,
    FallingBehind,
    FenceRefused,
    PassDone,
    PlanFailed,
)
from rota.firing.pass_state import Pass, PassCounts
from rota.firing.scheduler import CHANNEL, Scheduler, Settings

__all__ = [
    "CHANNEL",
    "CaughtUp",
    "FallingBehind",
    "FenceRefused",
    "Pass",
    "PassCounts",
    "PassDone",
    "PlanFailed",
    "Scheduler",
    "Settings",
]
