"""What happened in this process, counted from its events: a few additions for each.

Outcomes come a batch at a time (`OutcomesRecorded`), after they have been recorded: an event for
each firing would cost more than the counting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final

from rota.firing.events import CaughtUp, FallingBehind, FenceRefused, PassDone
from rota.firing.scheduler import SERVICE as SCHEDULER
from rota.leases import LeaseLost, LeaseResigned, LeaseTaken
from rota.service import ServiceDelayed, ServiceFailed
from rota.watch.events import AlertOpened, NotificationFailed, NotificationSent
from rota.workers.events import FinishRefused, FiringOverdue, FiringRescued, OutcomesRecorded
from rota.workers.hosts.events import CircuitClosed, CircuitOpened

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.events import Bus

LATENESS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
DURATION: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0),
)
_ENDED: Final = frozenset({"succeeded", "dead", "cancelled", "skipped", "missed"})


class Histogram:
    """Seconds, by how many there were up to each bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus has them: each counts all that are no longer than its bound."""
        found: list[tuple[str, float]] = []
        so_far = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            so_far += count
            found.append((bound, so_far))
        return found


class Counts:
    """Everything counted since the process began."""

    def __init__(self) -> None:
        self.firings: Counter[str] = Counter()
        """Ended, by status."""
        self.attempts: Counter[str] = Counter()
        """By outcome."""
        self.fired: Counter[str] = Counter()
        """What passes did with slots."""
        self.events: Counter[str] = Counter()
        """Single facts, by name."""
        self.leases: Counter[str] = Counter()
        self.alerts: Counter[str] = Counter()
        self.notifications: Counter[str] = Counter()
        self.lateness = Histogram(LATENESS)
        self.duration = Histogram(DURATION)
        self.lag = 0.0
        self.clock_offset = 0.0
        self.behind = False

    def ended(self, status: str) -> None:
        """A firing came to its end by somebody else's word."""
        if status in _ENDED:
            self.firings[status] += 1

    def listen(self, bus: Bus) -> Callable[[], None]:
        """Count the bus's events from now on; returns what ends it."""
        ends = [
            bus.subscribe(OutcomesRecorded, self._outcomes),
            bus.subscribe(PassDone, self._pass),
            bus.subscribe(ServiceDelayed, self._service_failed),
            bus.subscribe(ServiceFailed, self._service_failed),
            bus.subscribe(FallingBehind, lambda _: self._falls_behind(behind=True)),
            bus.subscribe(CaughtUp, lambda _: self._falls_behind(behind=False)),
            bus.subscribe(FenceRefused, lambda _: self._count("fence_refusals")),
            bus.subscribe(FinishRefused, lambda _: self._count("stale_completions")),
            bus.subscribe(FiringRescued, self._rescued),
            bus.subscribe(FiringOverdue, lambda event: self.ended(event.state)),
            bus.subscribe(LeaseTaken, lambda _: self._lease("taken")),
            bus.subscribe(LeaseLost, lambda _: self._lease("lost")),
            bus.subscribe(LeaseResigned, lambda _: self._lease("resigned")),
            bus.subscribe(CircuitOpened, lambda _: self._count("circuits_opened")),
            bus.subscribe(CircuitClosed, lambda _: self._count("circuits_closed")),
            bus.subscribe(AlertOpened, self._alert),
            bus.subscribe(NotificationSent, lambda _: self._notified("sent")),
            bus.subscribe(NotificationFailed, self._not_notified),
        ]

        def stop() -> None:
            for end in ends:
                end()

        return stop

    def _outcomes(self, event: OutcomesRecorded) -> None:
        accepted, firings, attempts = event.accepted, self.firings, self.attempts
        late, long = self.lateness.add, self.duration.add
        for each in event.settlements:
            claim = each.claim
            if claim.id not in accepted:
                continue
            if each.status is not None:
                firings[each.status] += 1
            started_at, tried = each.started_at, each.tried
            if started_at is not None and tried is not None:
                attempts[tried.outcome] += 1
                late((started_at - claim.available_at).total_seconds())
                long((each.finished_at - started_at).total_seconds())

    def _pass(self, event: PassDone) -> None:
        self.fired["fired"] += event.fired
        self.fired["caught_up"] += event.caught_up
        self.fired["refused"] += event.refused
        self.firings["skipped"] += event.skipped
        self.firings["missed"] += event.missed
        self.firings["cancelled"] += event.cancelled
        self.events["passes"] += 1
        self.lag = event.lag.total_seconds()
        self.clock_offset = event.clock_offset.total_seconds()

    def _rescued(self, event: FiringRescued) -> None:
        self.events["rescues"] += 1
        self.ended(event.state)

    def _service_failed(self, event: ServiceDelayed | ServiceFailed) -> None:
        if event.service == SCHEDULER:
            self._count("pass_failures")

    def _falls_behind(self, *, behind: bool) -> None:
        self.behind = behind

    def _count(self, name: str) -> None:
        self.events[name] += 1

    def _lease(self, change: str) -> None:
        self.leases[change] += 1

    def _alert(self, event: AlertOpened) -> None:
        self.alerts[event.kind] += 1

    def _notified(self, result: str) -> None:
        self.notifications[result] += 1

    def _not_notified(self, event: NotificationFailed) -> None:
        self._notified("given_up" if event.given_up else "failed")
