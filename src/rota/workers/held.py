"""A claim in a worker's hands."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from datetime import datetime

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.calls import Call


class Phase(enum.Enum):
    """How far it has come; only ever forward, but for what is given a later place by its host."""

    AHEAD = "ahead"
    """Its instant has not come."""
    DUE = "due"
    """Its instant has come; it waits for a free hand."""
    CALLING = "calling"
    SETTLING = "settling"
    """Its outcome is known here and not yet in the database."""


class Stop(enum.Enum):
    """Why a call was broken off."""

    CANCELLED = "cancelled"
    """Somebody asked for its end."""
    INTERRUPTED = "interrupted"
    """The worker stops, and could not wait any longer."""
    LOST = "lost"
    """The claim is not ours any more."""


@dataclass(slots=True, eq=False)
class Held:
    """A claim, its schedule, and what the worker does with it."""

    claim: Claim
    schedule: Schedule
    trusted_until: datetime
    """By the database's clock; somebody else may have it after that."""
    phase: Phase = Phase.AHEAD
    stop: Stop | None = None
    stop_reason: str | None = None
    place_at: datetime | None = None
    """The instant at which its host takes it, where the rate is limited."""
    probe: bool = False
    """It is the one that tries whether its host answers again."""
    postponed: bool = False
    """It is on its way back to the queue, for later."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    call: Call | None = field(default=None, repr=False)
    """The one that is being made, and since when; or one that is ready to be."""
    started_at: datetime | None = None
    given_up: bool = False
    """It was settled although its call went on: what comes of that is of no interest."""
    lingers: asyncio.Future[None] | None = field(default=None, repr=False)
    """Of a function that goes on although its attempt is over: done when its hand is free."""

    @property
    def start_at(self) -> datetime:
        """When it may begin."""
        return self.claim.available_at if self.place_at is None else self.place_at

    @property
    def unstarted(self) -> bool:
        return self.phase is Phase.AHEAD or self.phase is Phase.DUE

    def break_off(self, stop: Stop, reason: str | None = None) -> bool:
        """End the call that is being made or about to be; the attempt goes on to its settlement.

        Whether there is one, and nobody has before. It may not end all the same (`unending`).
        """
        if self.phase is not Phase.CALLING or self.stop is not None:
            return False
        self.stop, self.stop_reason = stop, reason
        # Before its first step a task would end without ever running; it looks at `stop` instead.
        if self.task is not None:
            self.task.cancel()
        return True
