"""A program that runs: started on a loop or by signals, once at a time, in its own process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from rota.events import Bus
from rota.library.errors import NotRunning
from rota.library.lifecycle import started
from rota.library.settings import read_queues, read_roles, read_tenants
from rota.runtime import handover
from rota.runtime.parts import Stop
from rota.runtime.run import until_asked, with_signals
from rota.telemetry import log

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from rota.library.lifecycle import Start, Started
    from rota.library.running import Running


class Program(ABC):
    """What `Rota` does after its functions have been decorated."""

    def __init__(self) -> None:
        self._pid: int | None = None
        """The process that has started it, or is about to."""
        self._started: Started | None = None
        self._stack: AsyncExitStack | None = None

    @abstractmethod
    def _start(self, **settings: Any) -> Start:
        """What to start with, read now; these settings go before those that were given."""

    @property
    def running(self) -> Running:
        """What there is while it runs in this process; `NotRunning` otherwise."""
        if self._pid is not None and self._pid != os.getpid():
            raise _forked(self._pid)
        if self._started is None:
            raise NotRunning(
                "this Rota is not running: start it with `async with rota:`, `await rota.start()`, "
                "`rota.run()` or your web framework's lifespan"
            )
        return self._started.running

    @property
    def is_running(self) -> bool:
        return self._started is not None and self._pid == os.getpid()

    def run(
        self,
        *,
        roles: Iterable[str] | str | None = None,
        queues: Iterable[str] | str | None = None,
        tenants: Iterable[str] | str | None = None,
        concurrency: int | None = None,
        api: bool = False,
        host: str | None = None,
        port: int | None = None,
        verbose: bool = False,
    ) -> None:
        """Run until SIGTERM or SIGINT, then end in order; the second signal cuts it short.

        `api=True` (or a `port`) has it answer the HTTP API as well, as `rota serve` does.
        """
        if _is_imported_by_child():
            # Of a task that runs in a process: the program is run by the parent, and the child
            # wants its functions. (Others ask for `if __name__ == "__main__":` here.)
            return
        self._occupy()
        try:
            start = self._start(**_given(host=host, port=port))
            chosen = read_roles(roles)
            wanted = set(start.config.roles if chosen is None else chosen)
            if api or host is not None or port is not None:
                wanted.add("api")
            start = replace(
                start,
                config=replace(start.config, roles=read_roles(wanted) or ()),
                queues=read_queues(queues) or start.queues,
                tenants=read_tenants(tenants) or start.tenants,
                concurrency=concurrency or start.concurrency,
                is_terminal=sys.stderr.isatty(),
            )

            async def main(bus: Bus, stop: Stop) -> None:
                block = started(start, bus=bus, stop=stop)
                await until_asked(block, stop=stop, on_started=self._announce)

            with_signals(main, verbose=verbose)
        finally:
            self._vacate()

    async def start(self) -> None:
        """Begin, on the loop that runs; `stop` ends it. Signals are the program's own affair."""
        self._occupy()
        try:
            async with AsyncExitStack() as stack:
                bus = Bus()
                stack.callback(log.pass_on(bus))
                block = started(self._start(), bus=bus, stop=Stop())
                self._started = await stack.enter_async_context(block)
                self._stack = stack.pop_all()
        except BaseException:
            self._vacate()
            raise

    async def stop(self) -> None:
        """Claim no more, finish what runs within the grace, give back the rest, and leave."""
        if self.running.loop is not asyncio.get_running_loop():
            raise NotRunning("this Rota was started on another event loop: stop it there")
        if self._stack is None:
            raise NotRunning("this Rota is run by `rota.run()`, or is stopping: send a signal")
        stack, self._stack = self._stack, None
        try:
            await stack.aclose()
        finally:
            self._vacate()

    async def declare(self, *, force: bool = False) -> bool:
        """Write the schedules of the code once more; whether they are in force now.

        `force` puts them in force although processes with another declaration are alive: the way
        back to an older build while a newer one still runs.
        """
        _ = self.running
        declarer = self._started.declarer if self._started else None
        if declarer is None:
            raise NotRunning("this Rota only enqueues (roles=()): it declares no schedules")
        return (await declarer.declare(force=force)).in_force

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncGenerator[None]:  # noqa: ARG002 - as frameworks call it
        """For ASGI frameworks: `FastAPI(lifespan=rota.lifespan)`, `Litestar(lifespan=[…])`."""
        async with self:
            yield

    def _occupy(self) -> None:
        """Before the first wait, so that a second start meanwhile is refused as well."""
        if self._pid is not None and self._pid != os.getpid():
            raise _forked(self._pid)
        if self._pid is not None:
            raise NotRunning(
                "this Rota is running already: expected one start at a time; "
                "to share it, start it once and let others wait for that"
            )
        self._pid = os.getpid()

    def _vacate(self) -> None:
        self._pid = self._started = self._stack = None

    def _announce(self, begun: Started) -> None:
        self._started = begun
        for line in handover.lines(url=begun.url, sign_in=begun.sign_in, new_key=begun.new_key):
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _is_imported_by_child() -> bool:
    """Whether this is a child process that reads its parent's main module, to find functions."""
    return getattr(multiprocessing.current_process(), "_inheriting", False)


def _forked(pid: int) -> NotRunning:
    return NotRunning(
        f"this Rota was started in process {pid}, and this is process {os.getpid()}, forked from "
        "it: connections cannot be shared, so start it in each process after the fork"
    )


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
