"""Prometheus metrics: what this process has counted, and the state of the installation.

No label is a tenant's (no names, keys, hosts or queues), so they may be read without a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector

from rota.queue.states import ENDED, LIVE
from rota.telemetry.metrics_counts import Counts
from rota.telemetry.metrics_gauges import Gauges, Standing
from rota.version import __version__
from rota.watch.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus
    from rota.telemetry.metrics_counts import Histogram

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS: Final = {
    "passes": "Passes of the scheduler that found something to do",
    "pass_failures": "Passes of the scheduler that failed",
    "fence_refusals": "Writes refused because another node holds the shard by now",
    "stale_completions": "Completions refused because the claim was no longer the worker's",
    "rescues": "Claims taken from workers that were gone",
    "circuits_opened": "Circuit breakers opened",
    "circuits_closed": "Circuit breakers closed",
}


class WebFigures(NamedTuple):
    """Of the web process next to an engine."""

    connections: int
    """Open connections of callers."""
    pool_busy: int
    pool_most: int
    resident_bytes: int


class Metrics(Collector):
    """Of one process, with a registry of its own; with what its web process told, if it has one."""

    web: WebFigures | None = None
    engine_up: bool = True
    """False in a web process whose engine does not answer."""

    def __init__(
        self, bus: Bus, db: Database, clock: Clock, *, pools: Mapping[str, Database] | None = None
    ) -> None:
        self.counts = Counts()
        self._bus = bus
        self._gauges = Gauges(db, clock)
        self._pools = pools or {"engine": db}
        self._standing = Standing()
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def start(self) -> Callable[[], None]:
        """Count from now on; returns what ends it."""
        return self.counts.listen(self._bus)

    async def render(self) -> tuple[str, bytes]:
        """The media type and the text. It answers while the database is away, and says so."""
        self._standing = await self._gauges.now()
        return CONTENT_TYPE, generate_latest(self._registry)

    def describe(self) -> Iterator[Metric]:
        """Nothing ahead: `collect` says it all."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """What `generate_latest` asks for."""
        yield InfoMetricFamily("rota", "The program", {"version": __version__})
        yield from self._counted()
        yield from self._passes()
        yield from _standing(self._standing)
        yield self._pool_use()
        yield from self._web()

    def _counted(self) -> Iterator[Metric]:
        counts = self.counts
        yield _counter("rota_firings", "Firings ended, by status", "status", counts.firings, ENDED)
        yield _counter("rota_attempts", "Attempts, by outcome", "outcome", counts.attempts, ())
        yield _counter(
            "rota_lease_changes",
            "Leases taken, lost and resigned",
            "change",
            counts.leases,
            _LEASES,
        )
        yield _counter("rota_alerts_opened", "Alerts, by kind", "kind", counts.alerts, tuple(KINDS))
        yield _counter(
            "rota_notifications",
            "Notifications, by result",
            "result",
            counts.notifications,
            _RESULTS,
        )
        for name, words in _COUNTERS.items():
            yield CounterMetricFamily(f"rota_{name}", words, value=counts.events[name])
        yield _histogram(
            "rota_lateness_seconds", "From a firing's instant to its attempt", counts.lateness
        )
        yield _histogram("rota_attempt_duration_seconds", "Of attempts", counts.duration)

    def _passes(self) -> Iterator[Metric]:
        counts = self.counts
        for name, words in _SLOTS.items():
            yield CounterMetricFamily(f"rota_slots_{name}", words, value=counts.fired[name])
        yield _gauge(
            "rota_pass_lag_seconds", "Lateness of the oldest timer in the last pass", counts.lag
        )
        yield _gauge(
            "rota_falling_behind",
            "1 while the backlog is old and live slots go first",
            counts.behind,
        )
        yield _gauge(
            "rota_clock_offset_seconds", "The database's clock, from ours", counts.clock_offset
        )

    def _web(self) -> Iterator[Metric]:
        if self.web is None:
            return
        yield _gauge("rota_engine_up", "Whether the engine told its figures", self.engine_up)
        yield _gauge("rota_web_connections", "Open connections to the API", self.web.connections)
        yield _gauge(
            "rota_web_resident_bytes", "Memory of the web process", self.web.resident_bytes
        )

    def _pool_use(self) -> Metric:
        family = GaugeMetricFamily(
            "rota_database_connections", "Of this process", labels=["pool", "state"]
        )
        for name, db in self._pools.items():
            use = db.use
            family.add_metric([name, "busy"], use.busy)
            family.add_metric([name, "most"], use.most)
        if self.web is not None and "api" not in self._pools:
            family.add_metric(["api", "busy"], self.web.pool_busy)
            family.add_metric(["api", "most"], self.web.pool_most)
        return family


_LEASES: Final = ("taken", "lost", "resigned")
_RESULTS: Final = ("sent", "failed", "given_up")
_LANES: Final = ("http", "stream", "celery", "task")
_SLOTS: Final = {
    "fired": "Slots put into the queue (MO10)",
    "caught_up": "Of these, slots that were missed and are made good",
    "refused": "Timers that had been changed while they were to be fired",
}


def _standing(standing: Standing) -> Iterator[Metric]:
    yield _gauge("rota_database_up", "Whether the database answers", standing.database_up)
    if not standing.database_up:
        return
    queue = GaugeMetricFamily("rota_queue_depth", "Live firings (MO7)", labels=["lane", "state"])
    known = {(lane, state): 0 for lane in _LANES for state in LIVE}
    for (lane, state), count in (known | dict(standing.queue)).items():
        queue.add_metric([lane, state], count)
    yield queue
    alerts = GaugeMetricFamily("rota_alerts_open", "Troubles that go on", labels=["kind"])
    for kind in KINDS:
        alerts.add_metric([kind], standing.alerts.get(kind, 0))
    yield alerts
    for name, words, value in (
        ("queue_waiting_seconds", "How long the oldest has waited", standing.waiting_seconds),
        ("timer_lag_seconds", "How late the oldest timer is (MO9)", standing.timer_lag_seconds),
        ("shards", "Parts of the timers", standing.shards),
        ("shards_held", "Of these, those with a holder", standing.shards_held),
        ("nodes", "Processes that are alive", standing.nodes),
        ("circuits_open", "Hosts that are left alone", standing.circuits_open),
        ("notifications_pending", "What is still to be told", standing.notifications),
    ):
        yield _gauge(f"rota_{name}", words, value)


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=float(value))


def _counter(
    name: str, words: str, label: str, counts: Mapping[str, int], known: tuple[str, ...]
) -> Metric:
    """With a zero for what has not happened yet: a rate needs a beginning."""
    family = CounterMetricFamily(name, words, labels=[label])
    for each in dict.fromkeys((*known, *counts)):
        family.add_metric([each], counts.get(each, 0))
    return family


def _histogram(name: str, words: str, histogram: Histogram) -> Metric:
    family = HistogramMetricFamily(name, words)
    family.add_metric([], buckets=histogram.buckets(), sum_value=histogram.total)
    return family
