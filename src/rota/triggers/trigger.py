"""A trigger names instants: the *slots* at which something should happen.

Triggers are values. They read no clock, do no I/O, and never keep count; ask one for the slot after
an instant, and again for the slot after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from datetime import datetime


@runtime_checkable
class Trigger(Protocol):
    """The contract of every trigger.

    A result is strictly after (before) the argument, whatever the argument, and finding it takes
    bounded work. Instants are aware datetimes: any zone going in, UTC coming out.
    """

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after the instant; None when there is none left."""
        ...

    def previous_before(self, instant: datetime) -> datetime | None:
        """The last slot strictly before the instant; None when there is none."""
        ...

    @property
    def timezone(self) -> str:
        """The zone in which people read its slots."""
        ...

    @property
    def signature(self) -> str:
        """What it is, in one line that never changes: the pattern's part of a stable key."""
        ...
