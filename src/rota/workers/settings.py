"""How much a worker does at once, and how often it looks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from rota.workers.right_to_begin import TRUST_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """The defaults suit one process of a few cores."""

    concurrency: int = 500
    """Attempts at once. Each has a socket: stay below the limit of open files."""
    prefetch: int = 500
    """How many more it may hold than it can begin, so that it does not hoard a herd."""
    lead: timedelta = timedelta(seconds=2)
    """How far ahead of their instant firings are claimed."""
    visibility: timedelta = timedelta(seconds=30)
    """How long a claim is kept without a heartbeat."""
    heartbeat_interval: timedelta = timedelta(seconds=5)
    poll_interval: timedelta = timedelta(milliseconds=250)
    rescue_interval: timedelta = timedelta(milliseconds=500)
    rescue_grace: timedelta = timedelta(seconds=4)
    """How long others have to come back after an outage before their claims are rescued: longer
    than the longest wait between two tries to reach the database."""
    stop_grace: timedelta = timedelta(seconds=20)
    capture_budget: int | None = None
    """Bytes of requests and responses that are kept of a tenant in a day; None for no limit. A
    tenant may have its own."""

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.prefetch < 0:
            got = f"{self.concurrency} and {self.prefetch}"
            raise ValueError(f"expected a concurrency from 1 and a prefetch from 0, got {got}")
        if self.visibility < self.heartbeat_interval + TRUST_MARGIN:
            raise ValueError(
                f"expected claims to be kept for longer than from one heartbeat to the next "
                f"({self.heartbeat_interval}) and a second, got {self.visibility}"
            )
