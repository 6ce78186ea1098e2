"""Keeping the garbage collector out of the way of what is due at an instant.

A full collection looks at every object there is: with the definitions of fifty thousand schedules
in memory it stops the process for a quarter of a second, and whatever was due then starts late.
Nearly all that Rota throws away is freed at once, by reference counts; cycles are few and small.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 20_000
"""New objects before the young ones are looked at: about a millisecond's work."""
MIDDLE: Final = 20
OLD: Final = 100
"""A full collection comes after so many of the middle ones, each after so many of the young."""


def calm() -> None:
    """Collect now, then seldom; and never look again at what a start has made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
