"""How long to wait before the next attempt. Pure.

The wait itself is durable: it is the row's `available_at`, not a sleep in memory (section 22).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, get_args

from rota.errors import InvalidInput

Shape = Literal["exponential", "linear", "fixed"]

SHAPES: Final[tuple[str, ...]] = get_args(Shape)

# 2**40 of the shortest base is already past any longest wait; a timedelta must not overflow.
_MAX_DOUBLINGS = 40
_LONGEST = timedelta(days=365)


def require_shape(name: str) -> Shape:
    """The backoff that a caller named; an unknown one is refused, never replaced."""
    for shape in get_args(Shape):
        if name == shape:
            return shape
    raise InvalidInput(
        f"Invalid backoff: expected one of {', '.join(SHAPES)}, got {name[:40]!r}", field="backoff"
    )


def delay(
    shape: Shape, *, failures: int, base: timedelta, longest: timedelta = _LONGEST
) -> timedelta:
    """The wait after the `failures`-th attempt in a row has failed (1 or more).

    With n = failures - 1: exponential base·2ⁿ (5, 10, 20, 40), linear base·(n+1) (5, 10, 15, 20),
    fixed base (5, 5, 5); never more than `longest`.
    """
    if failures < 1:
        raise ValueError(f"expected at least 1 failure, got {failures}")
    if base <= timedelta():
        return timedelta()
    return min(base * min(_factor(shape, failures), _LONGEST // base + 1), longest)


def _factor(shape: Shape, failures: int) -> int:
    match shape:
        case "exponential":
            return 2 ** min(failures - 1, _MAX_DOUBLINGS)
        case "linear":
            return failures
        case "fixed":
            return 1
