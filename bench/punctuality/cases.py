"""Many schedules at the same instants: when their requests arrive, next to the bare loops."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bench.punctuality.bare import Send

if TYPE_CHECKING:
    from bench.punctuality.target import Arrival, Target

SECOND = timedelta(seconds=1)
RETRY_AFTER = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """So many schedules, all due at each of some instants."""

    title: str
    count: int
    answer: str = "now"
    """What the target does (`target.ANSWERED_AFTER`)."""
    every: int | None = None
    """Seconds between the instants; None for one instant alone."""
    instants: int = 1
    hosts: int = 1
    tls: bool = False
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    retries: bool = False
    """What counts is the second attempt, from the end of the first on."""
    note: str = ""

    def first_after(self, now: datetime) -> datetime:
        """The first instant that there is time to prepare for."""
        step = self.every or 1
        seconds = math.ceil((now.timestamp() + 6) / step) * step
        return datetime.fromtimestamp(seconds, UTC)

    def slots(self, first: datetime) -> list[datetime]:
        return [first + n * (self.every or 1) * SECOND for n in range(self.instants)]

    def path(self, run: str, number: int) -> str:
        return f"/{self.answer}/{run}/{number}"

    def port(self, target: Target, number: int) -> int:
        if self.retries:
            # A host of its own: its failures open the circuit breaker, which others must not meet.
            return target.ports[-1]
        return target.tls_port if self.tls else target.ports[number % self.hosts]

    def bodies(self, target: Target, run: str, first: datetime) -> list[dict[str, Any]]:
        """The schedules, as they are posted."""
        scheme = "https" if self.tls else "http"
        when: dict[str, Any] = {"run_at": first.isoformat()}
        if self.every is not None:
            when = {"cron_expr": "* * * * * *" if self.every == 1 else f"*/{self.every} * * * * *"}
        return [
            {
                "name": f"{run} {number}",
                "key": f"{run}-{number}",
                "target_url": f"{scheme}://127.0.0.1:{self.port(target, number)}"
                + self.path(run, number),
                "payload": {"team": "ops"},
                **when,
                **self.fields,
            }
            for number in range(self.count)
        ]

    def sends(self, target: Target, run: str, first: datetime) -> list[Send]:
        """The same for a bare loop."""
        return [
            Send(
                at=slot,
                port=self.port(target, number),
                # A bare loop makes one attempt, which succeeds.
                path=self.path(run, number).replace("/fails-first/", "/now/"),
                tls=self.tls,
            )
            for slot in self.slots(first)
            for number in range(self.count)
        ]

    def lateness(self, arrivals: list[Arrival], first: datetime) -> list[float]:
        """Milliseconds after its instant, of each request that counts."""
        slots = {slot.timestamp() for slot in self.slots(first)}
        found = [(each, _seconds(each.slot)) for each in arrivals]
        counted = [(each, slot) for each, slot in found if slot in slots]
        if self.retries and any(each.attempt == "2" for each, _ in counted):
            ended = {each.path: each.answered_at for each, _ in counted if each.attempt == "1"}
            again = [each for each, _ in counted if each.attempt == "2"]
            return [(each.at - ended[each.path] - RETRY_AFTER) * 1000 for each in again]
        return [(each.at - slot) * 1000 for each, slot in counted]


def _seconds(slot: str | None) -> float:
    return 0.0 if slot is None else datetime.fromisoformat(slot).timestamp()


CASES = (
    Case(title="90 schedules every second", count=90, every=1, instants=10),
    Case(
        title="90 schedules every second, the target takes 40 ms",
        count=90,
        every=1,
        instants=10,
        answer="after-40",
    ),
    Case(
        title="30 schedules every second, the previous run ends 300 ms before the slot",
        count=30,
        every=1,
        instants=10,
        answer="after-700",
    ),
    Case(title="90 at one instant, every 5 s", count=90, every=5, instants=4),
    Case(title="1,000 at one instant", count=1_000),
    Case(title="1,000 at one instant, 20 hosts", count=1_000, hosts=20),
    Case(
        title="90 at one instant every 5 s, TLS with a round trip of 50 ms",
        count=90,
        every=5,
        instants=4,
        tls=True,
        note="The arrival is at the far end: 25 ms are the wire's own, for all alike.",
    ),
    Case(
        title="90 second attempts",
        count=90,
        answer="fails-first",
        fields={"backoff": "fixed", "backoff_delay": RETRY_AFTER, "max_attempts": 2},
        retries=True,
        note="From the moment the target answered 503 plus the backoff of two seconds.",
    ),
)
