"""What a worker knows of hosts that fail: by its own calls, and by what all workers reported.

Reading is a look into a dict, empty while all hosts answer. What was heard is reported before the
outcomes, in one statement for all hosts; an answer is reported only of a host that is known to have
failed for its tenant, or for others in a way that may concern all. News of others comes by NOTIFY
when a circuit opens or closes, the rest by a poll.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.queue import circuits
from rota.queue.circuits import Heard
from rota.workers.hosts import host_signal as hearing
from rota.workers.hosts.circuit import keep_to_tenant, wide_open
from rota.workers.hosts.events import CircuitClosed, CircuitOpened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Subscription
    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.queue.circuits import Called, Circuit, Rules, Told
    from rota.workers.caller import Reply
    from rota.workers.hosts.host_signal import Sign

POLL_INTERVAL: Final = timedelta(seconds=1)
_FORGET_INTERVAL = timedelta(minutes=1)


class Probe:
    """The right to try whether a host answers again; held by the one claim that tries."""

    __slots__ = ("_called", "_circuits", "_time")

    def __init__(self, circuits: CircuitCache, called: Called, time: DatabaseClock) -> None:
        self._circuits = circuits
        self._called = called
        self._time = time

    def abandon(self) -> None:
        """It is not made after all: the next may try, without waiting for this one's time-out."""
        now = self._time.now()
        self._circuits.hear(self._called, "void", None, is_probe=True, now=now)


class CircuitCache:
    """The circuits that are known to be there."""

    def __init__(self, db: Database, rules: Rules, *, bus: Bus, clock: Clock) -> None:
        self._db = db
        self._rules = rules
        self._bus = bus
        self._clock = clock
        self._heard: dict[Called, Heard] = {}
        self._changes = 0
        self._forgot_at = clock.monotonic()
        self.circuits: dict[Called, Circuit] = {}
        self.wide: dict[str, Circuit] = {}
        """By host: the circuit that says until when all tenants leave it alone."""
        self._doubted: set[str] = set()
        """Hosts whose failures may concern all tenants: an answer for any of them is news."""

    # Hearing

    def hear(
        self,
        called: Called,
        sign: Sign,
        reply: Reply | None,
        *,
        is_probe: bool,
        now: datetime,
        timeout: timedelta = timedelta(),
    ) -> None:
        """An attempt has ended, which had `timeout`. Told with the next `report`, if there is
        anything to tell."""
        heard = self._heard.get(called)
        if heard is None:
            silent = sign == "void" or (sign == "answered" and not self._is_news(called))
            if not self._rules.failures or (silent and not is_probe):
                return
            heard = self._heard[called] = Heard()
        shared = reply is not None and hearing.is_shared(reply, timeout)
        refused = shared and reply is not None and hearing.is_refused(reply, called.host)
        hearing.add(heard, sign, reply, is_probe=is_probe, now=now, shared=shared, refused=refused)

    def _is_news(self, called: Called) -> bool:
        """Whether an answer is."""
        return called in self.circuits or called.host in self._doubted

    async def report(self) -> None:
        """Tell what was heard; nothing when there is nothing."""
        heard, self._heard = self._heard, {}
        if not heard:
            return
        try:
            async with self._db.transaction() as tx:
                told = await circuits.report(tx, heard, self._rules)
                answered = [each for each, what in heard.items() if what.answered]
                kept = await circuits.keep_to_tenants(tx, answered) if answered else []
        except BaseException:
            self._take_back(heard)
            raise
        self._apply(heard, told)
        for called in kept:
            if called in self.circuits:
                self.circuits[called] = keep_to_tenant(self.circuits[called])
        self._look_wide()

    def _take_back(self, heard: Mapping[Called, Heard]) -> None:
        """It was not told: what has been heard since comes after it."""
        for called, earlier in heard.items():
            later = self._heard.get(called, Heard())
            since = Heard() if later.answered else earlier
            self._heard[called] = replace(
                later,
                answered=earlier.answered or later.answered,
                failures=later.failures + since.failures,
                shared=later.shared + since.shared,
                refused=later.refused + since.refused,
                probe=later.probe or earlier.probe,
                retry_after=max(earlier.retry_after, later.retry_after),
                error=later.error or earlier.error,
            )

    def _apply(self, heard: Mapping[Called, Heard], told: Mapping[Called, Told]) -> None:
        self._changes += 1
        for called in heard:
            what = told.get(called)
            before = self.circuits.get(called)
            if what is None or what.circuit is None:
                self.circuits.pop(called, None)
            else:
                self.circuits[called] = what.circuit
            if what is not None and what.closed:
                failures = 0 if before is None else before.failures
                self._bus.publish(
                    CircuitClosed(host=called.host, tenant_id=called.tenant_id, failures=failures)
                )
            elif what is not None and what.opened and what.circuit is not None:
                self._say_opened(what.circuit)

    def _say_opened(self, circuit: Circuit) -> None:
        if circuit.open_until is not None:
            self._bus.publish(
                CircuitOpened(
                    host=circuit.host,
                    tenant_id=circuit.tenant_id,
                    reach=circuit.reach,
                    failures=circuit.failures,
                    until=circuit.open_until,
                )
            )

    def _look_wide(self) -> None:
        """After every change: what the circuits of all tenants say of a host."""
        far: defaultdict[str, list[Circuit]] = defaultdict(list)
        self._doubted = set()
        for called, circuit in self.circuits.items():
            if circuit.shared:
                self._doubted.add(called.host)
            if circuit.reach != "tenant":
                far[called.host].append(circuit)
        found = {host: wide_open(each) for host, each in far.items()}
        self.wide = {host: each for host, each in found.items() if each is not None}

    # Learning from others

    def learn(self, called: Called, circuit: Circuit | None) -> None:
        """What was seen of one host, on another occasion."""
        self._changes += 1
        if circuit is None:
            self.circuits.pop(called, None)
        else:
            self.circuits[called] = circuit
        self._look_wide()

    async def refresh(self) -> None:
        """Tell what has not been told with an outcome, and read what all workers know."""
        if not self._rules.failures:
            return
        await self.report()
        while True:
            changes = self._changes
            async with self._db.reading() as tx:
                found = await circuits.read(tx)
            # What we have told in the meantime is newer than what we have read.
            if changes == self._changes:
                self.circuits = found
                self._look_wide()
                break
        await self._forget()

    async def wait(self, news: Subscription | None) -> None:
        """Return when it is time to refresh."""
        if news is None or not self._rules.failures:
            await self._clock.sleep(POLL_INTERVAL)
        else:
            await news.wait(POLL_INTERVAL)

    async def _forget(self) -> None:
        now = self._clock.monotonic()
        if now - self._forgot_at < _FORGET_INTERVAL.total_seconds():
            return
        self._forgot_at = now
        async with self._db.transaction() as tx:
            await circuits.forget_old(tx)
