"""A timer, and what it takes to arm one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """A stored timer without `due_at`: a suspended one has none that Python could hold."""

    schedule_id: UUID
    scheduled_for: datetime
    """The first slot that is neither in the queue nor recorded."""
    version: int
    fired: int
    """How many firings it has had, for max_firings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """A timer to write."""

    schedule_id: UUID
    shard: int
    scheduled_for: datetime
    due_at: datetime
    """The slot plus its jitter; never before the slot."""
    version: int
    """The schedule's version that this slot belongs to."""
    fired: int = 0
    """How many firings it has had already."""
    suspended: bool = False
    """Due never, until its schedule is resumed; `due_at` is then ignored."""
