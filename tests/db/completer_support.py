"""A completer alone, without the worker around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.service import Service
from rota.workers.auto_pause import AutoPause
from rota.workers.completer import Completer
from rota.workers.hosts.circuit_cache import CircuitCache
from rota.workers.hosts.limits import Limits
from rota.workers.inflight import Inflight
from rota.workers.prefetch import Prefetch
from rota.workers.settings import WorkerSettings
from rota.workers.shared import Shared

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db import Database
    from rota.events import Bus


@asynccontextmanager
async def completing(
    db: Database, worker: UUID, bus: Bus, **settings: Any
) -> AsyncGenerator[Completer]:
    """It records what it is given, for as long as the block lasts."""
    clock = SystemClock()
    rules = WorkerSettings(**settings)
    shared = Shared(
        db=db,
        worker=worker,
        settings=rules,
        inflight=Inflight(concurrency=rules.concurrency, prefetch=rules.prefetch),
        time=DatabaseClock(clock),
        clock=clock,
        bus=bus,
    )
    completer = Completer(
        shared,
        prefetch=Prefetch(prefetch=rules.prefetch, lead=rules.lead),
        circuits=CircuitCache(db, Limits().circuit, bus=bus, clock=clock),
        auto_pause=AutoPause(db, bus),
    )
    service = Service("completer", completer.run_once, wait=completer.wait, bus=bus, clock=clock)
    service.start()
    try:
        yield completer
    finally:
        await service.stop(within=timedelta())
