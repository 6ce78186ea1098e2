"""Who follows whom, before it is stored: no circle, and no chain without an end. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.schedules.after import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    Upstreams = Mapping[str, str]
    """For each key, the key it follows."""


def wrong_with(key: str, upstream: str, known: Upstreams) -> str | None:
    """Why a schedule of this key must not follow that one; None when it may.

    `known` has the others, as far as they are on the way up from `upstream` or down from `key`;
    what it has of `key` itself is not counted. A schedule follows one other at most: there is one
    way up.
    """
    way = [key, upstream]
    while (
        (above := known.get(way[-1])) is not None and way[-1] != key and len(way) <= MAX_DEPTH + 1
    ):
        way.append(above)
    if way[-1] == key:
        return f"expected no circle, got {_shown(way)}"
    if len(way) + _depth_below(key, known) > MAX_DEPTH:
        return f"expected at most {MAX_DEPTH} schedules in a row, got more: {_shown(way[:3])} …"
    return None


def _depth_below(key: str, known: Upstreams) -> int:
    """How many schedules the longest chain has that hangs from this one, itself not counted."""
    below: dict[str, list[str]] = {}
    for follower, upstream in known.items():
        if follower != key:
            below.setdefault(upstream, []).append(follower)
    depth, level = 0, below.get(key, [])
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [each for one in level for each in below.get(one, [])]
    return depth


def _shown(way: list[str]) -> str:
    keys = [each[:60] for each in way]
    keys = keys if len(keys) <= 8 else [*keys[:4], "…", *keys[-3:]]
    return " after ".join(keys)
