"""What a worker knows of hosts that fail: its own ears, and what all workers have told.

Reading is a look into a dict, empty while all hosts answer. What was heard is told together with
the outcomes, in one statement for all hosts; an answer is told only of a host that is known to have
failed. News of others comes by NOTIFY when a circuit opens or closes, the rest by a poll.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.queue import circuits
from rota.queue.circuits import Heard
from rota.workers.hosts import heard as hearing
from rota.workers.hosts.events import CircuitClosed, CircuitOpened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Subscription
    from rota.events import Bus
    from rota.queue.circuits import Circuit, Rules, Told
    from rota.workers.calls import Reply
    from rota.workers.hosts.heard import Sign

POLL_INTERVAL: Final = timedelta(seconds=1)
_FORGET_INTERVAL = timedelta(minutes=1)


class Known:
    """The circuits that are known to be there."""

    def __init__(self, db: Database, rules: Rules, *, bus: Bus, clock: Clock) -> None:
        self._db = db
        self._rules = rules
        self._bus = bus
        self._clock = clock
        self._heard: dict[str, Heard] = {}
        self._changes = 0
        self._forgot_at = clock.monotonic()
        self.circuits: dict[str, Circuit] = {}

    # Hearing

    def hear(
        self, host: str, sign: Sign, reply: Reply | None, *, is_probe: bool, now: datetime
    ) -> None:
        """An attempt has ended. Told with the next `report`, if there is anything to tell."""
        heard = self._heard.get(host)
        if heard is None:
            silent = sign == "void" or (sign == "answered" and host not in self.circuits)
            if not self._rules.failures or (silent and not is_probe):
                return
            heard = self._heard[host] = Heard()
        hearing.add(heard, sign, reply, is_probe=is_probe, now=now)

    async def report(self) -> None:
        """Tell what was heard; nothing when there is nothing."""
        heard, self._heard = self._heard, {}
        if not heard:
            return
        try:
            async with self._db.transaction() as tx:
                told = await circuits.report(tx, heard, self._rules)
        except BaseException:
            self._take_back(heard)
            raise
        self._apply(heard, told)

    def _take_back(self, heard: Mapping[str, Heard]) -> None:
        """It was not told: what has been heard since comes after it."""
        for host, earlier in heard.items():
            later = self._heard.get(host, Heard())
            self._heard[host] = replace(
                later,
                answered=earlier.answered or later.answered,
                failures=later.failures + (0 if later.answered else earlier.failures),
                probe=later.probe or earlier.probe,
                retry_after=max(earlier.retry_after, later.retry_after),
                error=later.error or earlier.error,
            )

    def _apply(self, heard: Mapping[str, Heard], told: Mapping[str, Told]) -> None:
        self._changes += 1
        for host in heard:
            what = told.get(host)
            before = self.circuits.get(host)
            if what is None or what.circuit is None:
                self.circuits.pop(host, None)
            else:
                self.circuits[host] = what.circuit
            if what is not None and what.closed:
                failures = 0 if before is None else before.failures
                self._bus.publish(CircuitClosed(host=host, failures=failures))
            elif what is not None and what.opened and what.circuit is not None:
                self._say_opened(what.circuit)

    def _say_opened(self, circuit: Circuit) -> None:
        if circuit.open_until is not None:
            self._bus.publish(
                CircuitOpened(
                    host=circuit.host, failures=circuit.failures, until=circuit.open_until
                )
            )

    # Learning from others

    def learn(self, host: str, circuit: Circuit | None) -> None:
        """What was seen of one host, on another occasion."""
        self._changes += 1
        if circuit is None:
            self.circuits.pop(host, None)
        else:
            self.circuits[host] = circuit

    async def refresh(self) -> None:
        """Tell what has not been told with an outcome, and read what all workers know."""
        if not self._rules.failures:
            return
        await self.report()
        while True:
            changes = self._changes
            async with self._db.transaction(read_only=True) as tx:
                found = await circuits.read(tx)
            # What we have told in the meantime is newer than what we have read.
            if changes == self._changes:
                self.circuits = found
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
