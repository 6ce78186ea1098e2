"""From a host to addresses that may be called: looked up, judged, and kept for a moment (S2)."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rota.targets import TargetRefused, addresses
from rota.workers.delivery.http.failures import CallFailed, reason_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from uuid import UUID

    from rota.targets import TargetPolicy

    Lookup = Callable[[str, int], Awaitable[list[str]]]
    """The addresses of a host, in the order to try them; OSError when there are none."""
    Report = Callable[[UUID, str, str], None]
    """Takes a tenant, a host, and why it is not called, which the tenant must not be told."""

KEPT_SECONDS: Final = 2.0
"""How long an answer that was judged is used again: a burst asks once, a move shows at once."""
_MAX_KEPT: Final = 4096
_PER_TENANT: Final = 8
"""Look-ups at once for one tenant: one whose name servers hang must not take all threads."""
MAX_WAITING: Final = 2_000
"""Of one tenant, with those that are being made: well above what a worker calls at once."""


@dataclass(slots=True)
class _Slots:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PER_TENANT))
    users: int = 0


class Resolver:
    """Gives only addresses that passed the policy; a host is refused whole or not at all."""

    def __init__(
        self, policy: TargetPolicy, lookup: Lookup | None = None, report: Report | None = None
    ) -> None:
        self._policy = policy
        self._report = report
        self._lookup = lookup or look_up
        self._kept: dict[tuple[bool, str, int], tuple[float, tuple[str, ...]]] = {}
        """By whether the host was judged for the operator's tenant, the host and the port."""
        self._asked: dict[tuple[UUID, str, int], asyncio.Task[tuple[str, ...]]] = {}
        self._slots: dict[UUID, _Slots] = {}

    async def addresses(self, tenant: UUID, host: str, port: int) -> tuple[str, ...]:
        """Where the host can be called. `TargetRefused` when it may not be, `CallFailed` when it
        is not found; for a tenant that must not know which, `TargetRefused` in both cases."""
        policy = self._policy.of_tenant(tenant)
        literal = addresses.literal(host)
        if literal is not None:
            found = (str(literal),)
            policy.require(host, found)
            return found
        kept = self._kept.get((policy is self._policy, host, port))
        if kept is not None and asyncio.get_running_loop().time() < kept[0]:
            return kept[1]
        key = (tenant, host, port)
        task = self._asked.get(key)
        if task is None:
            slots = self._slots.get(tenant)
            if slots is not None and slots.users >= MAX_WAITING:
                # They outlive the attempts that wanted them: names whose servers hang add up.
                raise CallFailed(f"{host} was not looked up: too many other names are waited for")
            task = self._asked[key] = asyncio.create_task(self._ask(tenant, host, port))
            task.add_done_callback(lambda done: self._forget(key, done))
        # Shielded: one that runs out of time must not take the answer away from the others.
        return await asyncio.shield(task)

    async def _ask(self, tenant: UUID, host: str, port: int) -> tuple[str, ...]:
        policy = self._policy.of_tenant(tenant)
        async with self._slot(tenant):
            try:
                found = tuple(dict.fromkeys(await self._lookup(host, port)))
                policy.require(host, found)
            except TargetRefused as refused:
                self._tell(tenant, host, refused)
                raise
            except (OSError, UnicodeError) as error:
                reason = reason_of(error) if isinstance(error, OSError) else str(error)
                wrong = f"{host} was not found: {reason}"
                if not policy.is_discreet:
                    raise CallFailed(wrong) from error
                refused = policy.refusal(wrong)
                self._tell(tenant, host, refused)
                raise refused from error
        self._keep((policy is self._policy, host, port), found)
        return found

    def _tell(self, tenant: UUID, host: str, refused: TargetRefused) -> None:
        if self._report is not None and refused.detail is not None:
            self._report(tenant, host, refused.detail)

    def _keep(self, key: tuple[bool, str, int], found: tuple[str, ...]) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._kept) >= _MAX_KEPT:
            self._kept = {key: each for key, each in self._kept.items() if each[0] > now}
        if len(self._kept) < _MAX_KEPT:
            self._kept[key] = (now + KEPT_SECONDS, found)

    def _forget(self, key: tuple[UUID, str, int], done: asyncio.Task[tuple[str, ...]]) -> None:
        self._asked.pop(key, None)
        if not done.cancelled():
            done.exception()  # Seen, even when all who asked have left.

    @asynccontextmanager
    async def _slot(self, tenant: UUID) -> AsyncGenerator[None]:
        slots = self._slots.setdefault(tenant, _Slots())
        slots.users += 1
        try:
            async with slots.free:
                yield
        finally:
            slots.users -= 1
            if not slots.users:
                self._slots.pop(tenant, None)

    async def close(self) -> None:
        """Wait for nothing: whoever asked has left."""
        for task in tuple(self._asked.values()):
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)


async def look_up(host: str, port: int) -> list[str]:
    """What the system's resolver says.

    In a thread of its own. The loop's threads are few, so a handful of names whose servers hang
    would stop every look-up; and they are waited for at the end, where these are left behind.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str] | OSError | UnicodeError) -> None:
        if answer.done():
            return
        if isinstance(found, list):
            answer.set_result(found)
        else:
            answer.set_exception(found)

    def ask() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            found: list[str] | OSError | UnicodeError = [str(row[4][0]) for row in rows]
        except (OSError, UnicodeError) as error:
            found = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=ask, name=f"look-up {host}"[:60], daemon=True).start()
    return await answer
