"""Keeping the garbage collector out of the way of what is due at an instant.

A full collection looks at every object there is: with the definitions of fifty thousand schedules
in memory it stops the process for a quarter of a second, and whatever was due then starts late.
Nearly all that Rota throws away is freed at once, by reference counts; cycles are few and small.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 10_000
"""New objects before the young ones are looked at: about a millisecond's work."""
MIDDLE: Final = 5
"""Of these, before those that outlived one look are looked at again: few, because a request for ten
thousand schedules makes objects that outlive it, and the loop waits for the whole look."""
OLD: Final = 800
"""Of those, before everything is looked at."""


def calm() -> None:
    """Collect now, then seldom; and never look again at what a start has made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
