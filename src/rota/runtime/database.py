"""Knowing whether the database is there, and bringing an embedded one back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.clock import Clock, SystemClock
from rota.errors import EmbeddedError, TemporaryError
from rota.events import Event

if TYPE_CHECKING:
    from rota.db import Database
    from rota.db.embedded import Embedded
    from rota.events import Bus

_PATIENCE = timedelta(seconds=3)

INTERVAL = timedelta(seconds=1)
"""How often to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAway(Event):
    """Nothing can be read or written; nothing fires until it is back."""

    reason: str
    unanswered_for: timedelta = timedelta()
    """How long ago it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseBack(Event):
    """It answers again."""


class DatabaseWatch:
    """Asks the database whether it is there; an embedded server that died is started again."""

    def __init__(
        self,
        db: Database,
        *,
        bus: Bus,
        embedded: Embedded | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._db = db
        self._clock = clock or SystemClock()
        self._asked_at = self._clock.monotonic()
        self._bus = bus
        self._embedded = embedded
        self._told: str | None = None

    @property
    def is_away(self) -> bool:
        return self._told is not None

    async def run_once(self) -> None:
        """One look. Never raises because of the database: being away is what it is here to see."""
        self._asked_at = self._clock.monotonic()
        reason = await self._trouble()
        if reason is None:
            self._tell_back()
            return
        if not self.is_away:
            self._tell_away(reason)
        if self._embedded is not None:
            await self._bring_back(self._embedded)

    async def _bring_back(self, embedded: Embedded) -> None:
        try:
            await embedded.ensure_running()
        except EmbeddedError as error:
            self._tell_away(str(error))

    def _tell_away(self, reason: str) -> None:
        """Once for each reason: it is looked at every second, and an outage may last hours."""
        if reason != self._told:
            unanswered_for = timedelta(seconds=self._clock.monotonic() - self._asked_at)
            self._bus.publish(DatabaseAway(reason=reason, unanswered_for=unanswered_for))
        self._told = reason

    def _tell_back(self) -> None:
        if self.is_away:
            self._bus.publish(DatabaseBack())
        self._told = None

    async def _trouble(self) -> str | None:
        try:
            async with (
                asyncio.timeout(_PATIENCE.total_seconds()),
                self._db.reading() as tx,
            ):
                await tx.fetch_value("SELECT 1")
        except TemporaryError as error:
            return str(error)
        except TimeoutError:
            return f"no answer in {_PATIENCE.total_seconds():g} s"
        return None
