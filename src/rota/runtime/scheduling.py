"""The scheduler role: an elector that keeps leases and a scheduler that fires by them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.firing.scheduler import Scheduler, Settings
from rota.leases import Elector, SlowRule
from rota.runtime.tzdata_updater import TzdataUpdater

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database, Subscription
    from rota.events import Bus
    from rota.leases import Node, NodeSession
    from rota.schedules.schedule_cache import ScheduleCache

_MARGIN = timedelta(seconds=2)
_SLOW_ABOVE = timedelta(milliseconds=100)
"""A round trip that is no trouble, however short the lead."""


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
        cache: ScheduleCache,
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
            slow=SlowRule(slow_above=max(_SLOW_ABOVE, config.lead / 10)),
        )
        self._updater = TzdataUpdater(db, self._elector, bus=bus, clock=clock)
        self._scheduler = Scheduler(
            db,
            self._elector,
            bus=bus,
            clock=clock,
            news=news,
            settings=Settings(lead=config.lead),
            gate=self._updater,
            cache=cache,
        )
        parts = (self._elector, self._scheduler, self._updater)
        self._services = [each.service() for each in parts]

    def start(self) -> None:
        """Begin, in the background."""
        for each in self._services:
            each.start()

    async def stop(self) -> None:
        """Fire no more, then give the leases back: in this order, or two would fire at once."""
        for each in reversed(self._services):
            await each.stop(within=timedelta())
        await self._elector.resign()
