"""A request that is the worst its route permits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.loop_hold.client import Ask
    from bench.loop_hold.house import House

Prepare = Callable[["House"], "Ask | Awaitable[Ask]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is sent to a route, and how it is answered."""

    route: str
    """Its method and its path, as it is declared."""
    title: str
    prepare: Prepare
    status: tuple[int, ...] = (200, 201, 202, 204, 303)
    endless: bool = False
    """Whether the answer goes on for as long as somebody reads it."""
