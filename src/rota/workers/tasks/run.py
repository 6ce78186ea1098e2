"""One run of a task, while it is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import durations
from rota.workers.caller import Reply

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from datetime import timedelta

    from rota.clock import Clock
    from rota.workers.tasks.context import Context

STOPPED = "the run was cancelled, or its worker stops"


class Run:
    """When it must end, whom to tell, and whether its time was up."""

    __slots__ = (
        "clock",
        "context",
        "ends",
        "kill",
        "on_late",
        "over",
        "task",
        "timed_out",
        "timeout",
    )

    def __init__(
        self,
        task: asyncio.Task[object],
        clock: Clock,
        timeout: timedelta,
        context: Context | None,
        *,
        began: float | None = None,
        on_late: Callable[[Reply], None] | None = None,
    ) -> None:
        self.task = task
        """The attempt's: cancelling it ends the wait for the function."""
        self.clock = clock
        self.timeout = timeout
        self.context = context
        self.ends = (clock.monotonic() if began is None else began) + timeout.total_seconds()
        """On the monotonic clock."""
        self.timed_out = False
        self.over = False
        """Whether nobody waits for it any more."""
        self.kill: Callable[[], None] | None = None
        """Ends the function by force, where that can be done."""
        self.on_late = on_late
        """Told that its time is up, and what it comes to should the function go on."""
        if context is not None:
            context.extended = self.extend

    def extend(self, by: timedelta) -> None:
        """Give it this much time from now on, if that is more than it has. From any thread."""
        ends = self.clock.monotonic() + by.total_seconds()
        if ends > self.ends:
            self.ends = ends
            self.timeout += by
            if self.context is not None:
                self.context.deadline = self.clock.now() + by

    def restart(self) -> None:
        """Its time counts from now."""
        self.ends = self.clock.monotonic() + self.timeout.total_seconds()

    def time_out(self) -> None:
        """Its time is up."""
        self.timed_out = True
        self.task.cancel()
        if self.on_late is not None:
            self.on_late(self._late_reply())

    def late(self) -> Reply:
        """What came of it, when its time was up."""
        self.task.uncancel()
        return self._late_reply()

    def _late_reply(self) -> Reply:
        return Reply(error=self._late, timed_out=True)

    def tell(self) -> None:
        """Let the function know that it is to end, and end it where that can be done."""
        if self.context is not None:
            self.context.stop(self._late if self.timed_out else STOPPED)
        # Once: the thread that waits for a child takes it away when the child has answered.
        kill = self.kill
        if kill is not None:
            kill()

    @property
    def _late(self) -> str:
        return f"timed out after {durations.compact(self.timeout)}"
