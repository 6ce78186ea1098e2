"""One HTTP/1.1 connection of the listening socket, bounded in bytes and in time.

Uvicorn's protocol has no such bounds: it keeps trailers, chunk extensions and half-sent requests
for as long as somebody sends them. The bounds hold for every connection, with or without a key.
What is refused here has reached no application; the answer is `application/problem+json`, as
everywhere. How many connections there may be is the limiter's business (`connections.py`).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rota.api.problems import MEDIA_TYPE, Refused, to_problem
from rota.runtime.answer_writer import AnswerWriter

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from rota.runtime.connections import ConnectionLimiter, Phase

MAX_TARGET: Final = 8 * 1024
"""Of the address: the path and what follows the `?`."""
MAX_HEADERS: Final = 32 * 1024
"""Of all names and values together."""
MAX_COUNT: Final = 100
MAX_BODY: Final = 64 * 1024 * 1024
"""Of one request, read or discarded. Routes take far less, and say how much."""
MAX_PIPELINED: Final = 16
"""Requests of a connection that wait for the answer to the one before."""
_MAX_HEAD: Final = 2 * (MAX_TARGET + MAX_HEADERS)
"""What may come in before the headers have ended."""
_MAX_FRAMING: Final = _MAX_HEAD + 16 * 1024
"""What is not body: the head, chunk sizes, chunk extensions and trailers."""


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, limiter: ConnectionLimiter, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limiter = limiter
        self._messages = 0
        """Requests that came in whole: tells one head or body from the next."""
        self._in_head = True
        self._received = 0
        """Bytes of the request that is coming in, framing included."""
        self._payload = 0
        """Of these, the body's."""
        self._is_refused = False
        self._phase: tuple[Phase, int] | None = None
        self._phase_ends_at = float("inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn has it
        super().connection_made(transport)
        self._writer = AnswerWriter(transport, self.loop)
        refusal = self._limiter.enter(self, self.client)
        if refusal is not None:
            self._answer(refusal)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limiter.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._received += len(data)
        super().data_received(data)
        if self._is_refused:
            return
        if self._in_head and self._received > _MAX_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _LARGE)
        elif self._received - self._payload > _MAX_FRAMING + self._payload:
            # Trailers and chunk extensions end nowhere by themselves; a body in chunks of a byte
            # is mostly framing as well.
            self._refuse(HTTPStatus.BAD_REQUEST, _FRAMING)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Past the head these are trailers, which no route reads; past the count they are refused
        # in a moment. Neither is worth keeping.
        if self._in_head and len(self.headers) <= MAX_COUNT:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_refused:
            return
        self._in_head = False
        size = sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) > MAX_TARGET:
            detail = f"expected an address of at most {MAX_TARGET:,} bytes, got {len(self.url):,}"
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, detail)
        elif size > MAX_HEADERS or len(self.headers) > MAX_COUNT:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _LARGE)
        elif len(self.pipeline) >= MAX_PIPELINED:
            # An answer would come before those of the requests ahead.
            self._is_refused = True
            self.transport.abort()
        else:
            super().on_headers_complete()
            self.cycle.transport = cast("asyncio.Transport", self._writer)

    def on_body(self, body: bytes) -> None:
        self._payload += len(body)
        if self._is_refused:
            return
        if self._payload > MAX_BODY:
            detail = f"expected a body of at most {MAX_BODY // 1024**2} MB, got more"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._received, self._payload = True, 0, 0
        self._messages += 1
        if not self._is_refused:
            super().on_message_complete()

    def shutdown(self) -> None:
        # An answer that is complete may be held back still.
        self._writer.flush()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        if not self._is_refused:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected HTTP/1.1, got something else: {msg}")

    def end_if_late(self, now: float) -> None:
        """End the connection when it has been in its phase for too long. Called every second."""
        phase = (self._now_in(), self._messages)
        if phase != self._phase:
            self._phase = phase
            self._phase_ends_at = now + self._allowed(phase[0])
        ends_at = self._phase_ends_at
        if phase[0] == "body":
            ends_at += self._payload / self._limiter.deadlines.rate
        if now >= ends_at:
            self._end(phase[0])

    @property
    def _request(self) -> RequestResponseCycle | None:
        """The last one of the connection; uvicorn's types leave out that there may be none."""
        return self.cycle

    def _now_in(self) -> Phase:
        if self._is_refused or self.transport.is_closing():
            return "closing"
        if self.flow.write_paused:
            return "writing"
        is_answered = self._request is None or self._request.response_complete
        if self._in_head:
            return "working" if not is_answered else "head" if self._received else "idle"
        if is_answered:
            return "answered"
        # While reading is paused it is the application that takes its time.
        return "working" if self.flow.read_paused else "body"

    def _allowed(self, phase: Phase) -> float:
        """Seconds; what has been written and not taken yet has time by its size."""
        deadlines = self._limiter.deadlines
        if phase in ("writing", "closing"):
            unsent = self.transport.get_write_buffer_size()
            return deadlines.of(phase) + unsent / deadlines.rate
        return deadlines.of(phase)

    def _end(self, phase: Phase) -> None:
        if phase == "head":
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, _SLOW_HEAD)
        elif phase == "body":
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, _SLOW_BODY)
        elif phase == "idle":
            self.transport.close()
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer and end: what is still to come of the request is read and thrown away.

        Closing at once would reset the connection, and the caller might never see the answer.
        """
        request = self._request
        if request is not None and not request.response_complete:
            if request.response_started:
                # It would be read as a part of that answer.
                self._is_refused = True
                self.transport.abort()
                return
            request.disconnected = True
            request.message_event.set()
        self._answer(Refused(status, detail))
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def _answer(self, refusal: Refused) -> None:
        self._is_refused = True
        body = msgspec.json.encode(to_problem(refusal))
        status = refusal.status
        more = "".join(f"{name.lower()}: {value}\r\n" for name, value in refusal.headers.items())
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\n{more}"
            "connection: close\r\n\r\n"
        )
        # What is held back is of an answer before this one.
        self._writer.flush()
        self.transport.write(head.encode() + body)


_LARGE: Final = (
    f"expected at most {MAX_COUNT} headers, of {MAX_HEADERS // 1024} kB together, got more"
)
_FRAMING: Final = "expected a body, got more chunk sizes, chunk extensions and trailers than body"
_SLOW_HEAD: Final = "expected the whole head of a request in time, got a part of it"
_SLOW_BODY: Final = "expected the body of a request without long breaks, got a part of it"
