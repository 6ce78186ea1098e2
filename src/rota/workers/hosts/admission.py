"""Where claims stand that may begin but for their host: admitted, asked for, or turned away.

While a circuit is open its claims are turned away. When it half-opens, the first to come asks for
the probe. Where the rate is limited, a claim asks for a place, the instant at which it may start.
Questions are put to the database in batches, behind the work of all other hosts.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota import durations
from rota.queue import circuits as circuit_rows
from rota.queue import host_rate_limit
from rota.queue.circuits import Called
from rota.workers.hosts import cooldown
from rota.workers.hosts.circuit import may_probe
from rota.workers.hosts.circuit_cache import Probe
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.db import Tx
    from rota.queue.circuits import Asked, Circuit
    from rota.queue.host_rate_limit import Places
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.hosts.circuit_cache import CircuitCache
    from rota.workers.hosts.limits import Limits
    from rota.workers.hosts.postponer import Postponer
    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared

PROBE_MARGIN: Final = timedelta(seconds=10)
"""Beyond the attempt's own timeout: a prober that says nothing for so long is gone."""

_MAX_FIRST = 10_000
_MIN_HORIZON = timedelta(seconds=1)


class Admission:
    """Admits claims, or keeps them until they may go on."""

    def __init__(
        self,
        shared: Shared,
        limits: Limits,
        *,
        circuits: CircuitCache,
        postponer: Postponer,
        delay_queue: DelayQueue,
        release: ClaimRelease,
    ) -> None:
        self._db = shared.db
        self._inflight = shared.inflight
        self._time = shared.time
        self._limits = limits
        self._horizon = max(shared.settings.lead, _MIN_HORIZON)
        """How far ahead a place may be, where the rate is limited."""
        self._circuits = circuits
        self._postponer = postponer
        self._delay_queue = delay_queue
        self._release = release
        self._probes: dict[Called, InflightClaim] = {}
        """Asking for the probe: one of each circuit is enough."""
        self._paced: list[InflightClaim] = []
        """Asking for a place."""
        self._first: dict[Called, datetime] = {}
        self._arrived = asyncio.Event()

    # Asked for every claim, so they must be quick

    def admit_claim(self, held: InflightClaim) -> bool:
        """Whether to keep a new claim until its instant; if not, it is on its way back."""
        circuit = self._in_the_way(held)
        if circuit is None or circuit.open_until is None:
            return True
        if max(self._time.now(), held.start_at) >= circuit.open_until:
            return True
        self._turn_away(held, circuit)
        return False

    def _in_the_way(self, held: InflightClaim) -> Circuit | None:
        """The circuit that is open, or half-open, to the claim's tenant: its own if that is, or one
        that concerns all."""
        cache = self._circuits
        if not cache.circuits:
            return None
        host = held.claim.host or ""
        own = cache.circuits.get(Called(host, held.claim.tenant_id))
        return own if own is not None and own.open_until is not None else cache.wide.get(host)

    def admit_start(self, held: InflightClaim, now: datetime) -> bool:
        """Whether it may begin now; if not, it is kept here or is on its way back."""
        host = held.claim.host
        if host is None or held.probe:
            return True
        circuit = self._in_the_way(held)
        if circuit is not None and self._is_shut(held, circuit, now):
            return False
        if not self._limits.rate:
            return True
        if held.place_at is not None and now - held.place_at <= self._limits.lateness:
            return True
        held.place_at = None
        self._paced.append(held)
        self._arrived.set()
        return False

    def _is_shut(self, held: InflightClaim, circuit: Circuit, now: datetime) -> bool:
        """Whether the claim may not begin: it asks for the probe, or is turned away."""
        if circuit.tenant_id != held.claim.tenant_id:
            # Whether the host answers again is for those to try whom it failed.
            if circuit.open_until is None or now >= circuit.open_until:
                return False
            self._turn_away(held, circuit)
            return True
        called = Called(circuit.host, circuit.tenant_id)
        if may_probe(circuit, now) and called not in self._probes:
            self._probes[called] = held
            self._arrived.set()
        else:
            self._turn_away(held, circuit)
        return True

    def _turn_away(self, held: InflightClaim, circuit: Circuit) -> None:
        claim, window = held.claim, held.schedule.definition.retry_window
        if self._time.now() >= claim.began_at + window:
            # Postponed for ever it would be neither run nor dead, and nobody would hear of it.
            self._release.give_up(
                held,
                f"the circuit of {circuit.host} was open until its retry window of "
                f"{durations.compact(window)} was over",
            )
            return
        first = claim.tenant_id == circuit.tenant_id and self._is_first(circuit)
        until = cooldown.back_at(circuit, self._time.now(), first=first, draw=random.random())
        self._postponer.add(held, until, "circuit")

    def _is_first(self, circuit: Circuit) -> bool:
        """Whether nobody was turned away yet since it opened: that one comes back to try."""
        called, until = Called(circuit.host, circuit.tenant_id), circuit.open_until
        if until is None or self._first.get(called) == until:
            return False
        if len(self._first) > _MAX_FIRST:
            self._first.clear()
        self._first[called] = until
        return True

    # Asking the database

    async def wait(self) -> None:
        """Return when there is something to ask."""
        await self._arrived.wait()

    async def run_once(self) -> None:
        """Ask for probes and places. While the database is away, those who ask wait."""
        self._arrived.clear()
        if not (self._probes or self._paced):
            return
        # Those who come in the meantime for the probe find that it is being asked for.
        probes = dict(self._probes)
        paced, self._paced = self._paced, []
        by_host: defaultdict[str, list[InflightClaim]] = defaultdict(list)
        for held in paced:
            if self._waits(held):
                by_host[held.claim.host or ""].append(held)
        try:
            async with self._db.transaction() as tx:
                asked = await self._ask_probes(tx, probes)
                places = await self._reserve(tx, by_host)
        except BaseException:
            self._paced[:0] = paced
            raise
        for called, held in probes.items():
            del self._probes[called]
            self._answered(called, held, asked.get(called))
        for host, batch in by_host.items():
            self._placed(batch, places[host])

    async def _ask_probes(
        self, tx: Tx, probes: Mapping[Called, InflightClaim]
    ) -> dict[Called, Asked]:
        patience = {
            called: held.schedule.definition.timeout + PROBE_MARGIN
            for called, held in probes.items()
            if self._waits(held)
        }
        return await circuit_rows.ask_probe(tx, patience) if patience else {}

    async def _reserve(
        self, tx: Tx, by_host: Mapping[str, list[InflightClaim]]
    ) -> Mapping[str, Places]:
        wanted = {host: len(batch) for host, batch in by_host.items()}
        if not wanted:
            return {}
        interval = self._limits.interval
        return await host_rate_limit.reserve(tx, wanted, interval=interval, horizon=self._horizon)

    def _answered(self, called: Called, held: InflightClaim, answer: Asked | None) -> None:
        if not self._waits(held):
            if answer is not None and answer.granted:
                Probe(self._circuits, called, self._time).abandon()
            return
        self._circuits.learn(called, None if answer is None else answer.circuit)
        if answer is not None and not answer.granted:
            self._turn_away(held, answer.circuit)
            return
        held.probe = None if answer is None else Probe(self._circuits, called, self._time)
        self._inflight.line_up([held])

    def _placed(self, batch: list[InflightClaim], places: Places) -> None:
        instants = places.instants(len(batch), self._limits.interval)
        for held, (instant, is_place) in zip(batch, instants, strict=True):
            if not self._waits(held):
                continue
            if is_place:
                held.place_at = instant
                held.phase = Phase.SCHEDULED
                self._delay_queue.add(held)
            else:
                self._postponer.add(held, instant, "rate")

    def _waits(self, held: InflightClaim) -> bool:
        return held.phase is Phase.READY and self._inflight.get(held.claim.id) is held
