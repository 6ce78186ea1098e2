"""How much workers ask of one host, by the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue.circuits import Rules
from rota.workers.hosts.limits import Limits

if TYPE_CHECKING:
    from rota.config import Config


def host_limits(config: Config) -> Limits:
    """The same for every host, whoever its schedules belong to."""
    return Limits(
        rate=config.host_rate,
        concurrency=config.host_concurrency,
        circuit=Rules(failures=config.circuit_failures, interval=config.circuit_interval),
    )
