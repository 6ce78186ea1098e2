"""All that a worker does for the hosts it calls, in one place."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.circuits import Called
from rota.workers.held import Phase
from rota.workers.hosts import later
from rota.workers.hosts.gate import Gate
from rota.workers.hosts.hands import Hands
from rota.workers.hosts.known import Known
from rota.workers.hosts.postponer import Postponer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.workers.calls import Reply
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings
    from rota.workers.hosts.heard import Sign
    from rota.workers.hosts.limits import Limits

_LOOK_INTERVAL = timedelta(seconds=1)


class HostKeeper:
    """Admits claims for their hosts' sake, counts hands, and listens to how hosts are."""

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        limits: Limits,
        lead: timedelta,
        holdings: Holdings,
        rows: asyncio.Lock,
        time: DatabaseClock,
        clock: Clock,
        bus: Bus,
        go: Callable[[list[Held]], None],
        at: Callable[[Held], None],
        give_up: Callable[[Held, str], None],
        gone: Callable[[], None],
        refused: Callable[[], None],
    ) -> None:
        self._holdings = holdings
        self._time = time
        self._clock = clock
        self._hands = Hands(limits.concurrency) if limits.concurrency else None
        self.known = Known(db, limits.circuit, bus=bus, clock=clock)
        self.postponer = Postponer(
            db,
            worker,
            holdings=holdings,
            rows=rows,
            clock=clock,
            bus=bus,
            gone=gone,
            refused=refused,
        )
        self.gate = Gate(
            db,
            worker,
            limits=limits,
            horizon=max(lead, _LOOK_INTERVAL),
            known=self.known,
            postponer=self.postponer,
            holdings=holdings,
            time=time,
            clock=clock,
            bus=bus,
            go=go,
            at=at,
            give_up=give_up,
        )
        holdings.on_probe_left = self._probe_left
        self.admit: Callable[[Held], bool] | None = self._hands.admit if self._hands else None
        """Whether the host of what is next has a hand free; None when that is not limited."""

    def began(self, host: str | None) -> None:
        """A call is under way."""
        if self._hands is not None and host is not None:
            self._hands.began(host)

    def ended(self, host: str | None) -> None:
        """A call is over: the next that waits for the host may have its hand."""
        if self._hands is not None and host is not None:
            self._hands.ended(host)
            self._holdings.unpark(host)

    def hear(self, held: Held, sign: Sign, reply: Reply, now: datetime) -> None:
        """What the end of an attempt says of its host."""
        host = held.claim.host
        if host is not None:
            self.known.hear(
                Called(host, held.claim.tenant_id),
                sign,
                reply,
                is_probe=held.probe,
                now=now,
                timeout=held.schedule.definition.timeout,
            )
            held.probe = False

    def _probe_left(self, held: Held) -> None:
        """It was never made: the next may try, and need not wait until this one's time is up."""
        if held.claim.host is not None:
            called = Called(held.claim.host, held.claim.tenant_id)
            self.known.hear(called, "void", None, is_probe=True, now=self._time.now())

    async def clear(self) -> None:
        """Give back what waits in vain for a slow host, so that others have room."""
        if self._hands is None:
            return
        # While there is room, whoever waits here is begun sooner than whoever has to come back.
        crowded = self._holdings.room < len(self._holdings)
        waiting = [held for held in self._holdings if crowded and held.phase is Phase.DUE]
        in_the_way = self._hands.in_the_way(waiting)
        for held in in_the_way:
            until = later.crowded(self._time.now(), draw=random.random())
            self.postponer.add(held, until, "concurrency")
        if in_the_way:
            self._holdings.tidy()

    async def wait(self) -> None:
        """Return when it is time to clear again."""
        await self._clock.sleep(_LOOK_INTERVAL)
