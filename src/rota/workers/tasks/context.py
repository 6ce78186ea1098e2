"""What a task may know about its run, and say about it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rota.workers.delivery.capture import clean
from rota.workers.tasks.exceptions import Cancelled, length

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule

MAX_NOTE = 500


class Context:
    """The run of a task. A function that has a parameter annotated with it is given it.

    Everything here may be used from the function's thread or from the loop. Nothing waits for the
    database: what a task says is written by the worker, a moment later.
    """

    __slots__ = (
        "_stop",
        "attempt",
        "deadline",
        "extended",
        "firing_id",
        "is_catch_up",
        "job_type",
        "max_attempts",
        "pause",
        "replay_of",
        "say",
        "schedule_id",
        "schedule_key",
        "scheduled_for",
        "stop_reason",
        "tenant_id",
        "triggered_by",
    )

    def __init__(
        self,
        *,
        firing_id: UUID,
        schedule_id: UUID,
        schedule_key: str,
        tenant_id: UUID,
        job_type: str,
        scheduled_for: datetime,
        attempt: int,
        max_attempts: int,
        deadline: datetime,
        is_catch_up: bool = False,
        triggered_by: str = "enqueue",
        replay_of: UUID | None = None,
    ) -> None:
        self.firing_id = firing_id
        self.schedule_id = schedule_id
        self.schedule_key = schedule_key
        self.tenant_id = tenant_id
        self.job_type = job_type
        """The task's name."""
        self.scheduled_for = scheduled_for
        """The slot it is for; when it was enqueued for, of a task that was enqueued."""
        self.attempt = attempt
        """1 for the first."""
        self.max_attempts = max_attempts
        self.deadline = deadline
        """When its time is up; `heartbeat(extend=…)` moves it."""
        self.is_catch_up = is_catch_up
        self.triggered_by = triggered_by
        self.replay_of = replay_of
        """The firing that this one repeats; None of most."""
        self.stop_reason: str | None = None
        """Why it is to end, once it is."""
        self.say: Callable[[Context, float | None, str | None], None] | None = None
        """Takes what it says about its progress; for whoever runs it."""
        self.extended: Callable[[timedelta], None] | None = None
        """Moves its deadline; for whoever runs it."""
        self.pause: Callable[[timedelta], bool] | None = None
        """Lets time pass for `wait` where it is not the system's time; set by the runner."""
        self._stop: threading.Event | None = None

    @classmethod
    def of(cls, claim: Claim, schedule: Schedule, *, deadline: datetime) -> Context:
        """Of a claim that is about to be run."""
        definition = schedule.definition
        return cls(
            firing_id=claim.id,
            schedule_id=claim.schedule_id,
            schedule_key=schedule.key,
            tenant_id=claim.tenant_id,
            job_type=definition.job_type or "",
            scheduled_for=claim.scheduled_for,
            attempt=claim.attempt,
            max_attempts=definition.max_attempts,
            deadline=deadline,
            is_catch_up=claim.catch_up,
            triggered_by=claim.triggered_by,
            replay_of=claim.replay_of,
        )

    @property
    def is_last_attempt(self) -> bool:
        return self.attempt >= self.max_attempts

    @property
    def cancelled(self) -> bool:
        """Whether the run is to end: somebody cancelled it, its time is up, its worker stops.

        `async def` need not look: `asyncio.CancelledError` is raised at its await. A thread cannot
        be ended from outside, so a long `def` should look, or call `check`, from time to time.
        """
        return self.stop_reason is not None

    def check(self) -> None:
        """Raise `rota.Cancelled` if the run is to end; otherwise do nothing."""
        if self.stop_reason is not None:
            raise Cancelled(self.stop_reason)

    def wait(self, interval: timedelta | float | str) -> bool:
        """Sleep in a thread, but wake at once when the run is to end; whether it is.

        For `def`: `async def` sleeps as it likes, and is woken by the cancellation.
        """
        event = self._stop
        if event is None:
            self._stop = event = threading.Event()
        if self.stop_reason is not None:
            return True
        interval = length(interval)
        return event.wait(interval.total_seconds()) if self.pause is None else self.pause(interval)

    def heartbeat(self, *, extend: timedelta | float | str | None = None) -> None:
        """Say that it goes on; `check` whether it should.

        The worker keeps the claim of what runs by itself, so this is needed for one thing: `extend`
        gives the run that much time from now on, if that is more than it has left.
        """
        self.check()
        if extend is not None and self.extended is not None:
            self.extended(length(extend))

    def stop(self, reason: str) -> None:
        """Let the function know that it is to end. For whoever runs it."""
        if self.stop_reason is None:
            self.stop_reason = reason
        if self._stop is not None:
            self._stop.set()

    def progress(self, fraction: float | None = None, note: str | None = None) -> None:
        """Say how far it is: a share from 0 to 1, a few words, or both.

        Written at most once a second; seen in `GET /v1/firings/{id}` and `rota runs`.
        """
        if fraction is not None and not 0.0 <= fraction <= 1.0:
            raise ValueError(f"expected a share from 0 to 1, such as 0.4, got {fraction}")
        if self.say is not None:
            self.say(self, fraction, None if note is None else clean(note[:MAX_NOTE]))
