"""A receiver in front of an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rota.receiver import answers
from rota.receiver.answers import Answer
from rota.receiver.call import CALL
from rota.receiver.handled import succeeded
from rota.receiver.store import MemoryStore

if TYPE_CHECKING:
    from rota.receiver.receiver import Receiver
    from rota.receiver.store import Delivery

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_ENDS = ("http.response.body", "http.response.pathsend")

P = ParamSpec("P")
T = TypeVar("T")


class AsgiReceiver:
    """An ASGI application: the one it was given, behind a receiver. Made by `Receiver.asgi`."""

    def __init__(self, receiver: Receiver, app: AsgiApp) -> None:
        self._receiver = receiver
        self._app = app
        # A store that may wait for a network must not hold up the loop.
        self._store_waits = not isinstance(receiver.store, MemoryStore)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            # Nothing that comes through it is signed.
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        body = await _read(headers, receive, most=self._receiver.max_body)
        if body is None:
            return
        if isinstance(body, bytes):
            body = await self._pass(scope, headers, body, receive, send)
        if body is not None:
            await _send(body, send)

    async def _pass(
        self, scope: Scope, headers: dict[str, str], body: bytes, receive: Receive, send: Send
    ) -> Answer | None:
        """Let the application handle it; or the answer in its place."""
        call = self._receiver.check(scope["method"], headers, body)
        if isinstance(call, Answer):
            return call
        delivery = await self._ask(self._receiver.begin, call)
        if isinstance(delivery, Answer):
            return delivery
        await self._handle(delivery, {**scope, CALL: call}, _again(body, receive), send)
        return None

    async def _handle(self, delivery: Delivery, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application; its answer decides whether the firing was handled."""
        answered = _Answered()

        async def watched(message: Message) -> None:
            answered.see(message)
            if answered.ended and not answered.settled:
                # Before the last byte leaves: whoever has the whole answer may ask again at once.
                await self._ask(self._receiver.store.finish, delivery, ok=answered.ok)
                answered.settled = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if not answered.settled:
                # Also when the task is cancelled: the firing must not stay busy.
                await asyncio.shield(self._ask(self._receiver.store.finish, delivery, ok=False))

    async def _ask(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the store has to say."""
        if self._store_waits:
            return await asyncio.to_thread(function, *args, **kwargs)
        return function(*args, **kwargs)


class _Answered:
    """What an application has answered so far."""

    def __init__(self) -> None:
        self.ok = False
        """Whether what it answers is success."""
        self.ended = False
        self.settled = False
        """Whether the store knows."""

    def see(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [_text(pair) for pair in message.get("headers", ())]
            self.ok = succeeded(message["status"], headers)
        elif message["type"] in _ENDS and not message.get("more_body", False):
            self.ended = True


async def _read(headers: dict[str, str], receive: Receive, *, most: int) -> bytes | Answer | None:
    """The whole body; the refusal of one that is too large; None when the client went away."""
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length[:18]) > most:
        return answers.too_large(most)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            return answers.too_large(most)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read already, then whatever else the client does."""
    unread = [body]

    async def read() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return read


async def _send(answer: Answer, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    status = int(answer.status)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _headers(scope: Scope) -> dict[str, str]:
    """By name in lower case; one that came twice is joined, as WSGI has it, and so fits nothing.

    Frameworks that read headers as WSGI does take `Rota_Fence` for `Rota-Fence`: so does this.
    """
    found: dict[str, str] = {}
    for pair in scope["headers"]:
        name, value = _text(pair)
        name = name.replace("_", "-")
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _text(pair: tuple[bytes, bytes]) -> tuple[str, str]:
    name, value = pair
    return name.decode("latin-1").lower(), value.decode("latin-1")
