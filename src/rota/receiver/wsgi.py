"""A receiver in front of a WSGI application."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rota.receiver import answers
from rota.receiver.answers import Answer
from rota.receiver.call import CALL
from rota.receiver.handled import succeeded
from rota.receiver.store import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from rota.receiver.receiver import Receiver


class WsgiReceiver:
    """A WSGI application: the one it was given, behind a receiver. Made by `Receiver.wsgi`."""

    def __init__(self, receiver: Receiver, app: WSGIApplication) -> None:
        self._receiver = receiver
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body = _read(environ, most=self._receiver.max_body)
        begun = body if isinstance(body, Answer) else self._begin(environ, body)
        if isinstance(begun, Delivery):
            return self._handle(begun, environ, start_response)
        status = f"{begun.status.value} {begun.status.phrase}"
        start_response(status, list(begun.headers))
        return [begun.body]

    def _begin(self, environ: WSGIEnvironment, body: bytes) -> Delivery | Answer:
        """The delivery that the application is to handle, with its call and body put back."""
        call = self._receiver.check(environ["REQUEST_METHOD"], _headers(environ), body)
        if isinstance(call, Answer):
            return call
        _put_back(environ, body)
        environ[CALL] = call
        return self._receiver.begin(call)

    def _handle(
        self, delivery: Delivery, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Call the application; its answer decides whether the firing was handled."""
        said: list[bool] = []

        def watched(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            said[:] = [succeeded(int(status.split(" ", 1)[0]), headers)]
            return start_response(status, headers, exc_info)

        def finish(*, ended: bool) -> None:
            self._receiver.store.finish(delivery, ok=ended and said == [True])

        try:
            answer = self._app(environ, watched)
        except BaseException:
            finish(ended=False)
            raise
        if isinstance(answer, list | tuple):
            # All of it is there, so the work is done, whether the client still listens or not.
            finish(ended=True)
            return answer
        return _Watched(answer, finish)


class _Watched:
    """An answer that is still being made; its firing is settled when it ends or is closed.

    Each part is held back until the next one is there: the firing is settled before the last one
    leaves, as whoever has the whole answer may ask again at once.
    """

    def __init__(self, answer: Iterable[bytes], finish: Callable[..., None]) -> None:
        self._answer = answer
        self._parts = iter(answer)
        self._finish = finish
        self._settled = False
        self._held: bytes | None = b""

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._held is None:
            raise StopIteration
        held = self._held
        try:
            self._held = next(self._parts, None)
        except BaseException:
            self._settle(ended=False)
            raise
        if self._held is None:
            self._settle(ended=True)
        return held

    def close(self) -> None:
        try:
            close = getattr(self._answer, "close", None)
            if close is not None:
                close()
        finally:
            # Left before its end: the client went away, and the rest was never done.
            self._settle(ended=False)

    def _settle(self, *, ended: bool) -> None:
        if not self._settled:
            self._settled = True
            self._finish(ended=ended)


def _read(environ: WSGIEnvironment, *, most: int) -> bytes | Answer:
    """The whole body, or the refusal of one that is too large."""
    length = str(environ.get("CONTENT_LENGTH") or "")
    if length.isdecimal():
        wanted = int(length[:18])
    else:
        # Without a length, reading on would wait for ever unless the server marks the end.
        wanted = most + 1 if environ.get("wsgi.input_terminated") else 0
    if length and wanted > most:
        return answers.too_large(most)
    body = _read_up_to(environ["wsgi.input"], wanted)
    return body if len(body) <= most else answers.too_large(most)


def _read_up_to(stream: Any, wanted: int) -> bytes:
    """Servers may hand over less than was asked for, long before the end."""
    parts: list[bytes] = []
    while wanted > 0:
        part: bytes = stream.read(wanted)
        if not part:
            break
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def _put_back(environ: WSGIEnvironment, body: bytes) -> None:
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _headers(environ: WSGIEnvironment) -> dict[str, str]:
    return {
        name[5:].replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    }
