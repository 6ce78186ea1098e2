"""Numbers and goals as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.frame.results import Row

TIMES = "\N{MULTIPLICATION SIGN}"


def number(value: float) -> str:
    """Three digits that matter: 1,230,000 and 0.0123."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def times(ratio: float) -> str:
    """A ratio, as a number of times."""
    return f"{number(ratio)}{TIMES}"


def goal(row: Row) -> str:
    """What was to be reached."""
    if row.goal is None:
        return ""
    if row.goal.peer is not None:
        return f"at least {row.goal.value:g}{TIMES} {row.goal.peer}"
    bound = "at least" if row.better == "more" else "at most"
    return f"{bound} {number(row.goal.value)} {row.unit}"


def verdict(row: Row) -> str:
    """Whether it was reached, and by what."""
    value = row.towards_goal
    if row.goal is None or value is None:
        return ""
    shown = times(value) if row.goal.peer is not None else f"{number(value)} {row.unit}"
    return f"{'reached' if row.reached else 'missed'}: {shown}"
