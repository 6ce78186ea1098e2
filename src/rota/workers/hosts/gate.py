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
from rota.db import Backoff
from rota.queue import circuits, host_pace
from rota.queue.circuits import Called
from rota.workers.events import WorkerTroubled
from rota.workers.held import Phase
from rota.workers.hosts import later
from rota.workers.hosts.circuit import may_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.queue.circuits import Asked, Circuit
    from rota.queue.host_pace import Places
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings
    from rota.workers.hosts.known import Known
    from rota.workers.hosts.limits import Limits
    from rota.workers.hosts.postponer import Postponer

PROBE_MARGIN: Final = timedelta(seconds=10)
"""Beyond the attempt's own timeout: a prober that says nothing for so long is gone."""

_MAX_FIRST = 10_000


class Gate:
    """Admits claims, or keeps them and hands them over when they may go on.

    `go` gets what may begin now, `at` what may begin at its place, at most `horizon` ahead.
    """

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        limits: Limits,
        horizon: timedelta,
        known: Known,
        postponer: Postponer,
        holdings: Holdings,
        time: DatabaseClock,
        clock: Clock,
        bus: Bus,
        go: Callable[[list[Held]], None],
        at: Callable[[Held], None],
        give_up: Callable[[Held, str], None],
    ) -> None:
        self._db = db
        self._worker = worker
        self._limits = limits
        self._horizon = horizon
        self._known = known
        self._postponer = postponer
        self._holdings = holdings
        self._time = time
        self._clock = clock
        self._bus = bus
        self._go = go
        self._at = at
        self._give_up = give_up
        self._probes: dict[Called, Held] = {}
        """Asking for the probe: one of each circuit is enough."""
        self._paced: list[Held] = []
        """Asking for a place."""
        self._first: dict[Called, datetime] = {}
        self._arrived = asyncio.Event()
        self._backoff = Backoff()

    # Asked for every claim, so they must be quick

    def admit_claim(self, held: Held) -> bool:
        """Whether to keep a new claim until its instant; if not, it is on its way back."""
        circuit = self._in_the_way(held)
        if circuit is None or circuit.open_until is None:
            return True
        if max(self._time.now(), held.start_at) >= circuit.open_until:
            return True
        self._turn_away(held, circuit)
        return False

    def _in_the_way(self, held: Held) -> Circuit | None:
        """The circuit that is open, or half-open, to the claim's tenant: its own if that is, or one
        that concerns all."""
        known = self._known
        if not known.circuits:
            return None
        host = held.claim.host or ""
        own = known.circuits.get(Called(host, held.claim.tenant_id))
        return own if own is not None and own.open_until is not None else known.wide.get(host)

    def admit_start(self, held: Held, now: datetime) -> bool:
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

    def _is_shut(self, held: Held, circuit: Circuit, now: datetime) -> bool:
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

    def _turn_away(self, held: Held, circuit: Circuit) -> None:
        claim, window = held.claim, held.schedule.definition.retry_window
        if self._time.now() >= claim.began_at + window:
            # Postponed for ever it would be neither run nor dead, and nobody would hear of it.
            self._give_up(
                held,
                f"the circuit of {circuit.host} was open until its retry window of "
                f"{durations.compact(window)} was over",
            )
            return
        first = claim.tenant_id == circuit.tenant_id and self._is_first(circuit)
        until = later.back_at(circuit, self._time.now(), first=first, draw=random.random())
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

    async def run(self) -> None:
        """Until cancelled. While the database is away, those who ask wait."""
        failures = 0
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                await self._ask()
            except Exception as error:  # noqa: BLE001 - a gate that stays shut helps nobody
                failures += 1
                self._troubled(error)
                await self._clock.sleep(self._backoff.interval(failures, draw=random.random()))
                self._arrived.set()
            else:
                failures = 0

    async def _ask(self) -> None:
        # Those who come meanwhile for the probe find that it is being asked for.
        probes = dict(self._probes)
        paced, self._paced = self._paced, []
        by_host: defaultdict[str, list[Held]] = defaultdict(list)
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

    async def _ask_probes(self, tx: Tx, probes: Mapping[Called, Held]) -> dict[Called, Asked]:
        patience = {
            called: held.schedule.definition.timeout + PROBE_MARGIN
            for called, held in probes.items()
            if self._waits(held)
        }
        return await circuits.ask_probe(tx, patience) if patience else {}

    async def _reserve(self, tx: Tx, by_host: Mapping[str, list[Held]]) -> Mapping[str, Places]:
        wanted = {host: len(batch) for host, batch in by_host.items()}
        if not wanted:
            return {}
        interval = self._limits.interval
        return await host_pace.reserve(tx, wanted, interval=interval, horizon=self._horizon)

    def _answered(self, called: Called, held: Held, answer: Asked | None) -> None:
        if not self._waits(held):
            if answer is not None and answer.granted:
                self._known.hear(called, "void", None, is_probe=True, now=self._time.now())
            return
        self._known.learn(called, None if answer is None else answer.circuit)
        if answer is not None and not answer.granted:
            self._turn_away(held, answer.circuit)
            return
        held.probe = answer is not None
        self._go([held])

    def _placed(self, batch: list[Held], places: Places) -> None:
        instants = places.instants(len(batch), self._limits.interval)
        for held, (instant, is_place) in zip(batch, instants, strict=True):
            if not self._waits(held):
                continue
            if is_place:
                held.place_at = instant
                held.phase = Phase.AHEAD
                self._at(held)
            else:
                self._postponer.add(held, instant, "rate")

    def _waits(self, held: Held) -> bool:
        return held.phase is Phase.DUE and self._holdings.get(held.claim.id) is held

    def _troubled(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._bus.publish(WorkerTroubled(worker=self._worker, part="hosts", error=text))
