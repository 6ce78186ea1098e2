"""A run that was asked for: what it is called, how it stands, and what it gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from rota import ids
from rota.errors import CallerError, RotaError
from rota.history import queries
from rota.library import asking
from rota.library.standing_in import at_once
from rota.library.waiting import waiting_of
from rota.queue.withdraw import cancel
from rota.workers.tasks import results
from rota.workers.tasks.exceptions import length

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.history.outcomes import Outcome
    from rota.library.app import Rota
    from rota.library.running import Running
    from rota.library.standing_in import StandIn
    from rota.workers.tasks.registry import TaskSpec

R = TypeVar("R")
T = TypeVar("T")


class NotEnqueued(CallerError):
    """Something was asked of a run that is not in the queue yet: `await` the handle first."""


class TaskFailed(RotaError):
    """The task failed for good. The message is the reason; `traceback` is the last attempt's."""

    def __init__(self, outcome: Outcome, task: str) -> None:
        self.task = task
        self.firing_id = ids.to_text(ids.Kind.FIRING, outcome.id)
        self.status = outcome.status
        self.attempt = outcome.attempt
        self.reason = outcome.reason or outcome.error or outcome.status
        self.traceback = (outcome.body or b"").decode(errors="replace")
        super().__init__(f"{task}: {self.reason}")


class TaskCancelled(TaskFailed):
    """The run was cancelled or skipped, or the task discarded it: there is no result."""


class ResultUnknown(RotaError):
    """Nobody knows of the run any more, or its result was not kept (`capture`)."""


class Handle(Generic[R]):
    """A run of a task. Awaiting it gives itself, once the run is in the queue.

    Each method is awaited in async code, and waits by itself in sync code.
    """

    __slots__ = ("_entering", "_id", "_rota", "_spec")

    def __init__(
        self,
        rota: Rota,
        spec: TaskSpec,
        id_: UUID | None,
        entering: Awaitable[Sequence[UUID]] | None = None,
    ) -> None:
        self._rota = rota
        self._spec = spec
        self._id = id_
        self._entering = entering

    def __await__(self) -> Generator[Any, None, Handle[R]]:
        yield from self._entered().__await__()
        return self

    async def _entered(self) -> UUID:
        if self._id is None and self._entering is not None:
            self._id = (await self._entering)[0]
            self._entering = None
        return self.firing_id

    @property
    def firing_id(self) -> UUID:
        """The firing's id, as the database has it."""
        if self._id is None:
            raise NotEnqueued("this run is not in the queue yet: await the handle first")
        return self._id

    @property
    def id(self) -> str:
        """The firing's id, as the API and the commands have it: fir_…"""
        return ids.to_text(ids.Kind.FIRING, self.firing_id)

    def result(self, timeout: timedelta | float | str | None = None) -> Awaitable[R]:
        """Wait for its end, and give what the task returned.

        Raises `TaskFailed`, `TaskCancelled`, or `TimeoutError` when that takes longer. In sync
        code the result itself is returned; `wait` is the same under a type that says so.
        """
        limit = None if timeout is None else length(timeout).total_seconds()

        async def work(running: Running) -> R:
            async with asyncio.timeout(limit):
                outcome = await waiting_of(running).outcome(self.firing_id)
            return self.read(outcome)

        stand_in = self._rota.stand_in
        if stand_in is not None:
            return cast(
                "Awaitable[R]", at_once(lambda: self.read(stand_in.outcome(self.firing_id)))
            )
        return cast("Awaitable[R]", self._ask(work))

    def wait(self, timeout: timedelta | float | str | None = None) -> R:
        """`result`, for sync code."""
        if asking.in_async_code():
            raise RuntimeError("expected sync code: in async code, `await handle.result(…)`")
        return cast("R", self.result(timeout))

    def status(self) -> Awaitable[str]:
        """How it stands: waiting, running, retrying, succeeded, dead, cancelled, …"""

        async def work(running: Running) -> str:
            async def look(tx: Tx) -> str:
                found = await queries.find(tx, self.firing_id, tenant_id=running.tenant.id)
                if found is None:
                    raise self._unknown()
                return found.status

            return await running.db.run(look, read_only=True)

        stand_in = self._rota.stand_in
        if stand_in is not None:
            return cast("Awaitable[str]", at_once(lambda: self._standing(stand_in)))
        return cast("Awaitable[str]", self._ask(work))

    def cancel(self, reason: str = "cancelled") -> Awaitable[bool]:
        """Ask for its end; False when it has ended already. What runs hears of it in a moment."""

        async def work(running: Running) -> bool:
            asked = await running.db.run(
                lambda tx: cancel(tx, [self.firing_id], reason), repeatable=True
            )
            return bool(asked)

        stand_in = self._rota.stand_in
        if stand_in is not None:
            return cast("Awaitable[bool]", at_once(lambda: stand_in.cancel(self.firing_id, reason)))
        return cast("Awaitable[bool]", self._ask(work))

    def _standing(self, stand_in: StandIn) -> str:
        found = stand_in.status(self.firing_id)
        if found is None:
            raise self._unknown()
        return found

    def _ask(self, work: Callable[[Running], Coroutine[Any, Any, T]]) -> Awaitable[T] | T:
        if asking.in_async_code():
            return self._ask_later(work)
        return asking.answer(self._rota, work)

    async def _ask_later(self, work: Callable[[Running], Coroutine[Any, Any, T]]) -> T:
        await self._entered()
        return await asking.begin(self._rota, work)

    def __repr__(self) -> str:
        return f"<run {self.id if self._id else 'to be entered'} of {self._spec.name}>"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Handle) and self._id is not None
        return same and self._id == cast("Handle[Any]", other)._id

    def __hash__(self) -> int:
        return hash(self._id)

    def read(self, outcome: Outcome | None) -> R:
        """What the task returned, if it did."""
        if outcome is None:
            raise self._unknown()
        if outcome.status == "succeeded":
            return results.read(outcome.body, self._spec.signature.returns)
        kind = TaskFailed if outcome.status == "dead" else TaskCancelled
        raise kind(outcome, self._spec.name)

    def _unknown(self) -> ResultUnknown:
        return ResultUnknown(
            f"nothing is known of the run {self.id} of {self._spec.name}: its transaction was "
            f"undone, or its history is older than what is kept"
        )


class Handles(Sequence[Handle[R]], Generic[R]):
    """Runs that were asked for together. Awaiting it gives itself, once they are in the queue."""

    __slots__ = ("_entering", "_ids", "_rota", "_spec")

    def __init__(
        self,
        rota: Rota,
        spec: TaskSpec,
        ids_: Sequence[UUID] | None,
        entering: Awaitable[Sequence[UUID]] | None = None,
    ) -> None:
        self._rota = rota
        self._spec = spec
        self._ids = ids_
        self._entering = entering

    def __await__(self) -> Generator[Any, None, Handles[R]]:
        if self._ids is None and self._entering is not None:
            self._ids = yield from self._entering.__await__()
        return self

    @property
    def firing_ids(self) -> Sequence[UUID]:
        """The firings' ids, as the database has them."""
        if self._ids is None:
            raise NotEnqueued("these runs are not in the queue yet: await the handles first")
        return self._ids

    def results(self, timeout: timedelta | float | str | None = None) -> Awaitable[list[R]]:
        """Wait for all to end: what they returned, in order. As `Handle.result` otherwise."""
        limit = None if timeout is None else length(timeout).total_seconds()

        async def work(running: Running) -> list[R]:
            waiting = waiting_of(running)
            async with asyncio.timeout(limit):
                ended = await waiting.outcomes(self.firing_ids)
            return [each.read(outcome) for each, outcome in zip(self, ended, strict=True)]

        stand_in = self._rota.stand_in
        if stand_in is not None:
            return cast(
                "Awaitable[list[R]]",
                at_once(lambda: [each.read(stand_in.outcome(each.firing_id)) for each in self]),
            )
        if asking.in_async_code():
            return self._results(work)
        return cast("Awaitable[list[R]]", asking.answer(self._rota, work))

    async def _results(self, work: Callable[[Running], Coroutine[Any, Any, list[R]]]) -> list[R]:
        await self
        return await asking.begin(self._rota, work)

    def __len__(self) -> int:
        return len(self.firing_ids)

    @overload
    def __getitem__(self, index: int) -> Handle[R]: ...
    @overload
    def __getitem__(self, index: slice) -> Handles[R]: ...
    def __getitem__(self, index: int | slice) -> Handle[R] | Handles[R]:
        if isinstance(index, slice):
            return Handles(self._rota, self._spec, self.firing_ids[index])
        return Handle(self._rota, self._spec, self.firing_ids[index])
