"""How often to say a thing: repeats of one trouble, and tries of one notification. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

REPEATS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)
"""After the first word on a trouble, the least time to the next, and so on; the last for all after.

What comes between is counted: a herd of dead firings is one notification. Ever less often, as a
trouble that lasts must not drown the next."""

MAX_TRIES: Final = 8
_TRY_FIRST: Final = timedelta(seconds=5)
_TRY_MOST: Final = timedelta(minutes=10)


def retry_interval(tries: int, *, wanted: timedelta | None = None) -> timedelta | None:
    """How long to wait after so many tries have failed; None when it is to be given up.

    `wanted` is what the receiver asked for (Retry-After).
    """
    if tries >= MAX_TRIES:
        return None
    usual = min(_TRY_FIRST * 2 ** (tries - 1), _TRY_MOST)
    return usual if wanted is None else min(max(usual, wanted), _TRY_MOST)
