"""The scheduler role: an elector that keeps leases and a scheduler that fires by them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.firing.loop import Scheduler, Settings
from rota.leases import Elector

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database, Subscription
    from rota.events import Bus
    from rota.leases import Node, NodeSession

_MARGIN = timedelta(seconds=2)


class Scheduling:
    """Fires what is due, until it is stopped; then others may take over at once."""

    def __init__(
        self,
        db: Database,
        config: Config,
        *,
        node: Node,
        session: NodeSession,
        news: Subscription,
        bus: Bus,
        clock: Clock,
    ) -> None:
        self._elector = Elector(
            db,
            session,
            node,
            bus=bus,
            clock=clock,
            ttl=config.lease_ttl,
            renew_interval=config.lease_renew_interval,
            # Short leases, as tests have them, leave no room for the usual margin.
            margin=min(_MARGIN, (config.lease_ttl - config.lease_renew_interval) / 4),
        )
        self._scheduler = Scheduler(
            db,
            self._elector,
            bus=bus,
            clock=clock,
            news=news,
            settings=Settings(lead=config.lead),
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin, in the background."""
        self._tasks = [
            asyncio.create_task(self._elector.run(), name="rota elector"),
            asyncio.create_task(self._scheduler.run(), name="rota scheduler"),
        ]

    async def stop(self) -> None:
        """Fire no more, then give the leases back: in this order, or two would fire at once."""
        for task in reversed(self._tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._tasks = []
        await self._elector.resign()
