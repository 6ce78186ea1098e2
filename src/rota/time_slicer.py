"""Runs long computations on the event loop in short slices, taking turns between tenants.

A request that computes for half a second would keep every other request of the process waiting for
as long. Here it computes for `SLICE`, lets the loop see to the others, and goes on. One computation
has a slice at a time, however many there are, and tenants take turns: ten requests of one tenant
get as much together as the one of another.

On the loop, and not in threads: a thread takes the interpreter's lock for 5 ms at a time, several
of them one after the other.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from rota.clock import Clock, SystemClock
from rota.errors import CallerError

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A computation that yields where it may be interrupted, and returns its result."""

SLICE: Final = timedelta(milliseconds=5)
"""How long a computation has the loop."""
SOME: Final = 8
"""Small items that are computed between two places to interrupt: each place costs a microsecond."""
MAX_WAITING: Final = 64
"""Computations of one tenant that wait; each keeps its request's body in memory."""

_NOTHING: Final = timedelta()


class TooManyAtOnce(CallerError):
    """The tenant has more long requests under way than a process takes on."""

    def __init__(self) -> None:
        self.retry_after = 1
        super().__init__(
            f"Expected at most {MAX_WAITING} long requests of this tenant at once, got more. "
            "Try again in 1 s"
        )


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    steps: Steps[T]
    result: asyncio.Future[T]


class TimeSlicer:
    """The computations of one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._waiting: OrderedDict[UUID, deque[_Job[Any]]] = OrderedDict()
        self._driver: asyncio.Task[None] | None = None

    async def run(self, tenant_id: UUID, steps: Steps[T]) -> T:
        """What the generator returns. It yields where it may be interrupted: often.

        `TooManyAtOnce` when the tenant has too many that wait.
        """
        if self._driver is None:
            # Nobody else computes: what is short is done before it could be queued.
            done = _Job(steps, asyncio.get_running_loop().create_future())
            self._advance(done)
            if done.result.done():
                return done.result.result()
            return await self._queued(tenant_id, done)
        return await self._queued(
            tenant_id, _Job(steps, asyncio.get_running_loop().create_future())
        )

    async def _queued(self, tenant_id: UUID, job: _Job[T]) -> T:
        line = self._waiting.setdefault(tenant_id, deque())
        if len(line) >= MAX_WAITING:
            job.steps.close()
            raise TooManyAtOnce
        line.append(job)
        if self._driver is None:
            self._driver = asyncio.create_task(self._drive(), name="rota time slicer")
        # Whoever hangs up cancels the future, and the driver passes the job over.
        return await job.result

    async def _drive(self) -> None:
        try:
            while self._waiting:
                await self._clock.sleep(_NOTHING)
                tenant_id, line = next(iter(self._waiting.items()))
                job = line[0]
                self._advance(job)
                if job.result.done():
                    line.popleft()
                self._waiting.move_to_end(tenant_id)
                if not line:
                    del self._waiting[tenant_id]
        finally:
            self._driver = None
            for line in self._waiting.values():  # the loop is ending
                for left in line:
                    left.result.cancel()
            self._waiting.clear()

    def _advance(self, job: _Job[Any]) -> None:
        """One slice of the job; its result is set when it ends."""
        if job.result.done():
            job.steps.close()
            return
        ends_at = self._clock.monotonic() + SLICE.total_seconds()
        try:
            while True:
                next(job.steps)
                if self._clock.monotonic() >= ends_at:
                    return
        except StopIteration as ended:
            job.result.set_result(ended.value)
        except Exception as error:  # noqa: BLE001 - it is told to whoever waits
            job.result.set_exception(error)


def released(*lists: list[Any]) -> Steps[None]:
    """Empty the lists: to let go of ten thousand objects takes as long as to make them."""
    for each in lists:
        while each:
            del each[-SOME:]
            yield


def run_at_once(steps: Steps[T]) -> T:
    """What the computation returns, without a pause: for small ones, and where no loop runs."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return ended.value
