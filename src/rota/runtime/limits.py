"""How much workers ask of one host, and tenants of the API, by the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rota.queue.circuits import Rules
from rota.tenants.request_pace import RequestPace
from rota.workers.hosts.limits import Limits

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database

REQUEST_RATE: Final = 1_000
"""Requests a second of one tenant where there may be several; who runs embedded has one."""


def host_limits(config: Config) -> Limits:
    """The same for every host, whoever its schedules belong to."""
    return Limits(
        rate=config.host_rate,
        concurrency=config.host_concurrency,
        circuit=Rules(failures=config.circuit_failures, interval=config.circuit_interval),
    )


def request_pace(config: Config, db: Database, clock: Clock) -> RequestPace:
    """The same for every tenant that has no rate of its own."""
    rate = config.request_rate
    if rate is None:
        rate = 0 if config.dsn is None else REQUEST_RATE
    return RequestPace(db, clock=clock, rate=rate, burst=config.request_burst)
