"""Calls the application directly over ASGI: a client that costs the loop next to nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHUNK = 64 * 1024
"""What a server hands over at a time."""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, ready to be sent."""

    method: str
    path: str
    body: bytes = b""
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    parts: list[bytes] = field(default_factory=list[bytes])

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def header(self, name: bytes) -> str:
        return next((value.decode() for key, value in self.headers if key == name), "")


async def send(app: Any, ask: Ask, *, first_part: bool = False) -> Answer:
    """Send it; the answer, or of an endless one its `first_part`: then the client hangs up."""
    answer = Answer()
    gone = asyncio.Event()
    at = 0

    async def receive() -> dict[str, Any]:
        nonlocal at
        if at > len(ask.body):
            await gone.wait()
            return {"type": "http.disconnect"}
        chunk = ask.body[at : at + _CHUNK]
        at += _CHUNK
        more = at < len(ask.body)
        if not more:
            at = len(ask.body) + 1
        return {"type": "http.request", "body": chunk, "more_body": more}

    async def take(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], list(message["headers"])
            return
        answer.parts.append(message.get("body", b""))
        if first_part or not message.get("more_body", False):
            gone.set()

    await app(_scope(ask), receive, take)
    return answer


def _scope(ask: Ask) -> dict[str, Any]:
    parts = urlsplit(ask.path)
    headers = {
        "host": "rota.example",
        "content-length": str(len(ask.body)),
        **({"content-type": ask.kind} if ask.body else {}),
        **{name.lower(): value for name, value in ask.headers.items()},
    }
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": ask.method,
        "scheme": "https",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("192.0.2.1", 50_000),
        "server": ("rota.example", 443),
    }
