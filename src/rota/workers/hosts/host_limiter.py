"""Host limits of a worker, in one place."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.queue.circuits import Called
from rota.workers.hosts import cooldown
from rota.workers.hosts.admission import Admission
from rota.workers.hosts.host_semaphore import HostSemaphore
from rota.workers.hosts.postponer import Postponer
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from rota.workers.caller import Reply
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.hosts.circuit_cache import CircuitCache
    from rota.workers.hosts.host_signal import Sign
    from rota.workers.hosts.limits import Limits
    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared

LOOK_INTERVAL: Final = timedelta(seconds=1)
"""Between two looks for claims that wait in vain for a slow host."""


class HostLimiter:
    """Limits the calls to each host: concurrency, rate and circuit breaker."""

    def __init__(
        self,
        shared: Shared,
        limits: Limits,
        *,
        delay_queue: DelayQueue,
        release: ClaimRelease,
        circuits: CircuitCache,
    ) -> None:
        self._inflight = shared.inflight
        self._time = shared.time
        self._semaphore = HostSemaphore(limits.concurrency) if limits.concurrency else None
        self.circuits = circuits
        self.postponer = Postponer(shared)
        self.admission = Admission(
            shared,
            limits,
            circuits=circuits,
            postponer=self.postponer,
            delay_queue=delay_queue,
            release=release,
        )
        self.admit: Callable[[InflightClaim], bool] | None = (
            self._semaphore.admit if self._semaphore else None
        )
        """Whether the host of what is next has room; None when that is not limited."""

    def began(self, host: str | None) -> None:
        """A call is under way."""
        if self._semaphore is not None and host is not None:
            self._semaphore.began(host)

    def ended(self, host: str | None) -> None:
        """A call is over: the next that waits for the host may start."""
        if self._semaphore is not None and host is not None:
            self._semaphore.ended(host)
            self._inflight.unpark(host)

    def hear(self, held: InflightClaim, sign: Sign, reply: Reply, now: datetime) -> None:
        """What the end of an attempt says of its host."""
        host = held.claim.host
        if host is not None:
            self.circuits.hear(
                Called(host, held.claim.tenant_id),
                sign,
                reply,
                is_probe=held.probe is not None,
                now=now,
                timeout=held.schedule.definition.timeout,
            )
            held.probe = None

    async def clear(self) -> None:
        """Give back what waits in vain for a slow host, so that others have room."""
        if self._semaphore is None:
            return
        # While there is room, what waits here starts sooner than what has to come back.
        crowded = self._inflight.room < len(self._inflight)
        waiting = [held for held in self._inflight if crowded and held.phase is Phase.READY]
        in_the_way = self._semaphore.in_the_way(waiting)
        for held in in_the_way:
            until = cooldown.crowded(self._time.now(), draw=random.random())
            self.postponer.add(held, until, "concurrency")
        if in_the_way:
            self._inflight.tidy()
