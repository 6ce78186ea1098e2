"""The same question from async code and from sync code, and from any thread.

In async code (a loop runs in this thread) an answer is awaited. In sync code the thread waits for
it. The work itself is done on the loop of the `Rota` that runs in this process; when none does, on
one of its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from rota.library.aside import Aside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from rota.library.app import Rota
    from rota.library.running import Running

T = TypeVar("T")

_asides: WeakKeyDictionary[Rota, Aside] = WeakKeyDictionary()
_under_way: set[asyncio.Future[Any]] = set()
"""A loop has no hold on its tasks: without this one could be gone before it is done."""


def in_async_code() -> bool:
    """Whether a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def answer(rota: Rota, work: Callable[[Running], Coroutine[Any, Any, T]]) -> Awaitable[T] | T:
    """What `work` gives: to be awaited in async code, and at once in sync code.

    It is under way either way: who does not await it does not undo it.
    """
    if in_async_code():
        return begin(rota, work)
    running = find(rota)
    return asyncio.run_coroutine_threadsafe(work(running), running.loop).result()


def begin(rota: Rota, work: Callable[[Running], Coroutine[Any, Any, T]]) -> asyncio.Future[T]:
    """Begin, on whichever loop it must be; a future of the loop that runs here."""
    task = asyncio.ensure_future(_elsewhere(rota, work))
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task


async def _elsewhere(rota: Rota, work: Callable[[Running], Coroutine[Any, Any, T]]) -> T:
    running = rota.running if rota.is_running else await asyncio.to_thread(find, rota)
    if running.loop is asyncio.get_running_loop():
        return await work(running)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(running), running.loop))


def close(rota: Rota) -> None:
    """End the connection that was made for want of one that runs. Blocks."""
    aside = _asides.pop(rota, None)
    if aside is not None:
        aside.close()


def find(rota: Rota) -> Running:
    """What runs of it in this process; connects, and blocks for it, when nothing does."""
    if rota.is_running:
        return rota.running
    aside = _asides.get(rota)
    if aside is None:
        aside = _asides.setdefault(rota, Aside())
    return aside.running(rota.client_start())
