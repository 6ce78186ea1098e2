"""Lists that read their pages by themselves, one when the one before is used up."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rota.sdk.client.call import Call, Listing
    from rota.sdk.client.results import Page

T = TypeVar("T")
R = TypeVar("R")


class Sender(Protocol):
    """Who sends a call and waits for its answer."""

    def send(self, call: Call[R], /) -> R: ...


class AsyncSender(Protocol):
    """Who sends a call, for whoever awaits its answer."""

    async def send(self, call: Call[R], /) -> R: ...


class Items(Iterator[T]):
    """Every item of a list. Nothing is asked for before the first is wanted."""

    def __init__(self, sender: Sender, listing: Listing[T]) -> None:
        self._sender = sender
        self._listing = listing
        self._items = self._all()

    def __next__(self) -> T:
        return next(self._items)

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one that the `next_cursor` of another names."""
        return self._sender.send(self._listing.page(cursor))

    def _all(self) -> Iterator[T]:
        page = self.page()
        yield from page.items
        while page.next_cursor is not None:
            page = self.page(page.next_cursor)
            yield from page.items


class AsyncItems(AsyncIterator[T]):
    """Every item of a list. Nothing is asked for before the first is wanted."""

    def __init__(self, sender: AsyncSender, listing: Listing[T]) -> None:
        self._sender = sender
        self._listing = listing
        self._ready: deque[T] = deque()
        self._cursor: str | None = None
        self._is_last = False

    async def __anext__(self) -> T:
        while not self._ready:
            if self._is_last:
                raise StopAsyncIteration
            page = await self.page(self._cursor)
            self._ready.extend(page.items)
            self._cursor, self._is_last = page.next_cursor, page.next_cursor is None
        return self._ready.popleft()

    async def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one that the `next_cursor` of another names."""
        return await self._sender.send(self._listing.page(cursor))
