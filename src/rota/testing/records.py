"""What a kit remembers, for tests to look at."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Run:
    """One attempt that was made, and what came of it."""

    schedule: str
    """The schedule's key; `task:<name>` of a task that was enqueued."""
    task: str | None
    """The task's name; None of another target."""
    scheduled_for: datetime
    """The slot; of an enqueued task, when it was wanted for."""
    started_at: datetime
    finished_at: datetime
    attempt: int
    """1 for the first."""
    outcome: str
    """Of the attempt: succeeded, failed, timed_out or cancelled."""
    status: str
    """Of the firing after it: succeeded, dead, cancelled; retrying; running when steps follow."""
    result: Any = None
    """What the function returned, as somebody who waits for it would get it."""
    error: str | None = None
    """One line, as `rota runs` shows it: `ValueError: no such team`."""
    reason: str | None = None
    """Why the firing ended, when it did not succeed."""
    exception: BaseException | None = field(default=None, compare=False)
    """What the function raised."""
    payload: Any = None
    """The arguments, as they were written: {"args": […], "kwargs": {…}} of what was enqueued."""
    triggered_by: str = "schedule"
    """schedule, enqueue, after or api."""
    is_catch_up: bool = False
    step: str | None = None
    """Of a saga, which step; `name:compensate` for what undoes it."""
    firing_id: UUID

    @property
    def succeeded(self) -> bool:
        return self.outcome == "succeeded"

    def __repr__(self) -> str:
        step = f", step {self.step}" if self.step else ""
        said = f": {self.error}" if self.error else ""
        return (
            f"<run of {self.schedule} for {self.scheduled_for.isoformat()}{step}, "
            f"attempt {self.attempt} {self.outcome}{said}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """Slots that came and were not run."""

    schedule: str
    first: datetime
    last: datetime
    count: int
    status: Literal["skipped", "missed", "cancelled"]
    reason: str
    """overlap, misfire_policy, misfire_cap, misfire_window, max_firings, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """A run of a task that was asked for."""

    task: str
    args: tuple[Any, ...]
    """As JSON has them."""
    kwargs: dict[str, Any]
    scheduled_for: datetime
    enqueued_at: datetime
    key: str | None = None
    priority: int
    firing_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of what is no function of the program: a URL, a stream, a Celery task, a task that
    other workers have. It is not made."""

    schedule: str
    target: Any
    """The `HttpTarget`, `TaskTarget`, `StreamTarget` or `CeleryTarget`."""
    payload: Any
    scheduled_for: datetime
    called_at: datetime
    attempt: int


class Runs(Sequence[Run]):
    """The attempts of one `advance`, `run_due` or `outage`, in order.

    In async code, `await` it: it has happened when that returns. In sync code it has already.
    """

    def __init__(self, begin: Callable[[Runs], Coroutine[Any, Any, None]] | None = None) -> None:
        self._made: list[Run] = []
        self._coming = None if begin is None else begin(self)

    def add(self, run: Run) -> None:
        """For the kit."""
        self._made.append(run)

    def __await__(self) -> Generator[Any, None, Runs]:
        coming, self._coming = self._coming, None
        if coming is not None:
            yield from coming.__await__()
        return self

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        return self._known()[index]

    def __len__(self) -> int:
        return len(self._known())

    def __repr__(self) -> str:
        return "<runs to be awaited>" if self._coming else f"<{len(self._made)} runs>"

    def _known(self) -> list[Run]:
        if self._coming is not None:
            raise RuntimeError("nothing has run yet: in async code, `await kit.advance(…)`")
        return self._made
