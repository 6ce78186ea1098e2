"""One connection to a target: one request at a time, and its answer read within bounds (S5)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from rota.workers.caller import WITHHELD, Reply, always
from rota.workers.delivery.http.dial import NO_ANSWER

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Transport

    from rota.workers.caller import Begin

MAX_BODY: Final = 1024 * 1024
"""How much of a response is read and kept (HX3); the connection is then closed."""
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 64 * 1024
MAX_INTERIM: Final = 10
"""How many 1xx answers may come before the answer."""

CUT_OFF: Final = "the connection ended in the middle of the answer"


class _Stop(Exception):
    """Raised in a callback to have the parser stop: there is no more to read."""


class Connection(asyncio.Protocol):
    """An answer ends in one of three ways: whole, cut at the cap, or with an error in a line."""

    __slots__ = (
        *("_code", "_error", "_finished", "_header_bytes", "_headers", "_heard", "_interim"),
        *("_is_head", "_keep", "_loop", "_max_body", "_parser", "_parts", "_size", "_timed_out"),
        *("_transport", "_unread", "_waiter", "ends", "idle_until", "was_used"),
    )

    def __init__(self, loop: AbstractEventLoop, *, max_body: int = MAX_BODY) -> None:
        self._loop = loop
        self._max_body = max_body
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._transport: Transport | None = None
        self._waiter: Future[None] | None = None
        self.ends = 0.0
        """When the exchange that is under way has to be over, by the loop's clock."""
        self.idle_until = 0.0
        self.was_used = False
        """Whether a request was ever sent on it."""
        self._reset(is_head=False)

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent."""
        return self._transport is not None

    @property
    def went_away(self) -> bool:
        """Whether it ended before a byte of the answer came."""
        return not self._heard and self._transport is None

    async def exchange(
        self,
        data: bytes,
        *,
        is_head: bool = False,
        begin: Begin = always,
    ) -> Reply:
        """Send the request and read its answer. Raises only when it is cancelled, or TimeoutError
        when its time is up (`time_out`)."""
        transport = self._transport
        self._reset(is_head=is_head)
        if transport is None:
            return Reply(error=NO_ANSWER)
        if not begin():
            return WITHHELD
        self.was_used = True
        self._waiter = waiter = self._loop.create_future()
        try:
            transport.write(data)
            await waiter
        except asyncio.CancelledError:
            # Half an answer is on its way: nobody else may read it as theirs.
            self.abort()
            raise
        finally:
            self._waiter = None
        if self._timed_out:
            raise TimeoutError
        return Reply(
            code=self._code or None,
            headers=tuple(self._headers),
            body=b"".join(self._parts),
            error=self._error,
        )

    def time_out(self) -> None:
        """End the exchange that is under way: its time is up."""
        if not self._finished:
            self._timed_out = True
            self._finish(keep=False)

    def abort(self) -> None:
        """End it now. A polite end would wait for a target that may never be polite."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._parser is None or self._finished:
            self.abort()  # Nobody asked; it must not be taken for the next answer.
            return
        self._heard = True
        self._unread += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self._finished:
                self._error = self._error or f"the answer is not HTTP: {error}"[:200]
            self._finish(keep=False)
            return
        if self._finished:
            self._finish(keep=self._keep)
        elif self._unread > MAX_HEADER_BYTES:
            # What the parser holds back grows with every byte: a line that does not end.
            self._error = "the answer's headers are larger than 64 kB"
            self._finish(keep=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._parser = None  # It refers to us: without this, both wait for the collector.
        if self._waiter is None or self._finished:
            return
        if exc is not None or not self._code or self._is_framed():
            self._error = CUT_OFF if self._heard else NO_ANSWER
        self._finish(keep=False)

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._finished:
            self._keep = False
            raise _Stop

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        if len(self._headers) >= MAX_HEADERS:
            self._refuse(f"the answer has more than {MAX_HEADERS} headers")
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refuse("the answer's headers are larger than 64 kB")
        if not self._code:  # Otherwise it is a trailer.
            self._headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        code = self._parser.get_status_code()
        if not 100 <= code <= 599:
            self._refuse(f"expected a status from 100 to 599, got {code}")
        if code == 101:
            self._refuse("the server changed the protocol, which nobody asked for")
        self._code = code
        if self._is_head or code in {204, 304}:
            # The parser would wait for a body if a length is given. It may be closed then.
            self._finished = True

    def on_body(self, body: bytes) -> None:
        if self._finished or self._code < 200:
            raise _Stop
        self._unread = 0
        self._parts.append(body)
        self._size += len(body)
        if self._size > self._max_body:
            # There may be no end to it.
            self._parts[-1] = body[: self._max_body - self._size]
            self._finished = True

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._code >= 200:
            self._finished = True
            self._keep = self._size <= self._max_body and self._parser.should_keep_alive()
            return
        self._interim += 1
        if self._interim > MAX_INTERIM:
            self._refuse(f"more than {MAX_INTERIM} interim answers came before the answer")
        self._headers.clear()
        self._code = 0

    def _reset(self, *, is_head: bool) -> None:
        self._is_head = is_head
        self._headers: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._code = self._size = self._header_bytes = self._interim = self._unread = 0
        self._heard = self._finished = self._keep = self._timed_out = False
        self._error: str | None = None

    def _refuse(self, sentence: str) -> None:
        self._error = sentence
        raise _Stop

    def _is_framed(self) -> bool:
        """Whether the answer says where it ends; otherwise the connection's end is its end."""
        for name, value in self._headers:
            lower = name.lower()
            if lower == "content-length":
                return True
            if lower == "transfer-encoding" and value.lower().rstrip().endswith("chunked"):
                return True
        return False

    def _finish(self, *, keep: bool) -> None:
        self._finished = True
        if not keep:
            self.abort()
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
