"""Who answers in place of an engine and a database: the test kit (`rota.testing`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rota.library.asking import in_async_code

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from rota.history.outcomes import Outcome
    from rota.queue.enqueue import EnqueueRequest

T = TypeVar("T")


class StandIn(Protocol):
    """What a program asks of a `Rota`, answered at once and in this process."""

    def enter(self, order: EnqueueRequest) -> list[UUID]:
        """The ids of the runs that are now in the queue."""
        ...

    def start(self, key: str, payload: Any) -> UUID:
        """A run of this schedule, now."""
        ...

    def outcome(self, firing_id: UUID) -> Outcome | None:
        """How it ended; None when nobody knows of it. Raises for one that has not."""
        ...

    def status(self, firing_id: UUID) -> str | None: ...

    def cancel(self, firing_id: UUID, reason: str) -> bool: ...


def at_once(work: Callable[[], T]) -> Awaitable[T] | T:
    """What `work` gives: to be awaited in async code, and as it is in sync code."""
    if not in_async_code():
        return work()

    async def later() -> T:
        return work()

    return later()
