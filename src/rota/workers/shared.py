"""What the stages of one worker share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.workers.inflight import Inflight
    from rota.workers.settings import WorkerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Made by the worker, once, and given to each stage."""

    db: Database
    worker: UUID
    """The node's id, under which claims are made."""
    settings: WorkerSettings
    inflight: Inflight
    time: DatabaseClock
    """The database's time."""
    clock: Clock
    bus: Bus
    rows: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Heartbeat, completer and postponer lock the same rows, each in its own order: one at a
    time."""
