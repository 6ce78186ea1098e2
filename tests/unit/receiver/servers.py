"""A target behind a receiver, on real servers: uvicorn for ASGI, wsgiref for WSGI."""

from __future__ import annotations

import asyncio
import http.client
import io
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import uvicorn
from tests.deadlines import patience

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from wsgiref.types import StartResponse, WSGIEnvironment

    from rota.receiver import Call, Receiver
    from rota.receiver.asgi import Message, Receive, Scope, Send


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Target:
    """An application: it remembers every body, and answers as it is told."""

    statuses: list[int] = field(default_factory=list[int])
    """To be answered one after another; then 200."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    bodies: list[bytes] = field(default_factory=list[bytes])
    calls: list[Call] = field(default_factory=list["Call"])
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_go: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_go.set()

    def handle(self, body: bytes) -> int:
        self.bodies.append(body)
        self.entered.release()
        assert self.may_go.wait(patience(30))
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 0:
            raise RuntimeError("the handler is broken")
        return status

    async def asgi(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        self.calls.append(scope["rota.call"])
        body = b""
        more = True
        while more:
            message: Message = await receive()
            body += message["body"]
            more = message["more_body"]
        status = await asyncio.to_thread(self.handle, body)
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"do", "more_body": True})
        await send({"type": "http.response.body", "body": b"ne"})

    def wsgi(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.calls.append(environ["rota.call"])
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        status = self.handle(body)
        start_response(f"{status} Said", [*self.headers.items(), ("Content-Length", "4")])
        return [b"do", b"ne"]

    def wsgi_parts(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """The same, made while it is sent."""
        yield from self.wsgi(environ, start_response)


@dataclass(frozen=True)
class Client:
    """Sends requests to the server."""

    port: int

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(30))
        try:
            connection.request("POST", "/hook", body, dict(headers))
            got = connection.getresponse()
            found = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, found, got.read())
        finally:
            connection.close()


def _made(receiver: Receiver | Callable[[int], Receiver], port: int) -> Receiver:
    """A receiver's key depends on its port, which is known only once it listens."""
    return receiver(port) if callable(receiver) else receiver


@contextmanager
def asgi(receiver: Receiver | Callable[[int], Receiver], target: Target) -> Generator[Client]:
    """uvicorn, in a thread."""
    started = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    app = _made(receiver, port).asgi(target.asgi)
    server = Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    assert started.wait(patience(30))
    try:
        yield Client(port)
    finally:
        server.should_exit = True
        thread.join(patience(30))
        listening.close()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Nothing."""

    def get_stderr(self) -> Any:
        """Nowhere: what the handler raises is part of the test."""
        return io.StringIO()


class _Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def _wsgi(app: Callable[[Target], Any]) -> Any:
    @contextmanager
    def serve(receiver: Receiver | Callable[[int], Receiver], target: Target) -> Generator[Client]:
        with _Threads(("127.0.0.1", 0), _Quiet) as server:
            server.set_app(_made(receiver, server.server_port).wsgi(app(target)))
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield Client(server.server_port)
            finally:
                server.shutdown()
                thread.join(patience(30))

    return serve


wsgi = _wsgi(lambda target: target.wsgi)
wsgi_parts = _wsgi(lambda target: target.wsgi_parts)
