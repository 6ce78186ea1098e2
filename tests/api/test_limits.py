"""Requests that are too much or not what they should be (S6), over HTTP: refused in a sentence."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from litestar import get
from tests.api.conftest import SCHEDULE, Api, made_of

from rota.api import access, bodies
from rota.api import app as application
from rota.api.app import create
from rota.runtime import bounded_http, listening, web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

LIMIT = bodies.MAX_BODY
JSON = "Content-Type: application/json\r\n"


@dataclass(frozen=True)
class Wire:
    """A server on loopback, spoken to in bytes."""

    port: int
    key: str
    api: Api

    async def send(self, *parts: bytes) -> tuple[int, dict[str, str], Any]:
        """What is answered: the status, the headers, the JSON."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            pairs = (line.partition(": ") for line in head[1:] if line)
            headers = {name.lower(): value for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            return int(head[0].split()[1]), headers, json.loads(body) if body else None
        finally:
            writer.close()

    def head(self, line: str, *more: str) -> bytes:
        lines = f"{line} HTTP/1.1\r\nHost: rota\r\nAuthorization: Bearer {self.key}\r\n"
        return (lines + "".join(more) + "\r\n").encode()

    async def post(self, content: bytes, kind: str = JSON) -> tuple[int, dict[str, str], Any]:
        length = f"Content-Length: {len(content)}\r\n"
        return await self.send(self.head("POST /v1/schedules", kind, length), content)

    async def refuses(self, status: int, answer: tuple[int, dict[str, str], Any]) -> dict[str, Any]:
        """A whole problem, and nothing was stored."""
        got, headers, body = answer
        assert got == status, body
        assert headers["content-type"] == "application/problem+json"
        assert body["status"] == status
        assert body["title"]
        assert body["detail"]
        assert len(json.dumps(body)) < 2_000
        assert await self.api.count() == 0
        return {**body, "headers": headers}


@get("/fails", opt=access.PUBLIC)
async def fails() -> None:
    raise RuntimeError("the password is hunter2")


@pytest.fixture
async def wire(api: Api, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Wire]:
    monkeypatch.setattr(application, "ROUTES", (*application.ROUTES, fails))
    listener = listening.listen("127.0.0.1", 0)
    server = web.WebServer(create(api.engine), listener)
    server.start()
    key = api.headers["Authorization"].removeprefix("Bearer ")
    yield Wire(listener.getsockname()[1], key, api)
    await server.stop()


def _of_size(size: int) -> bytes:
    """A schedule as a body of exactly so many bytes, padded with white space."""
    content = json.dumps(SCHEDULE).encode()
    return content[:-1] + b" " * (size - len(content)) + b"}"


async def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(wire: Wire) -> None:
    problem = await wire.refuses(413, await wire.post(_of_size(LIMIT + 1)))
    assert "512 kB" in problem["detail"]
    assert (await wire.post(_of_size(LIMIT)))[0] == 201


async def test_a_chunked_body_is_counted_as_it_comes(wire: Wire) -> None:
    head = wire.head("POST /v1/schedules", JSON, "Transfer-Encoding: chunked\r\n")
    for size in (LIMIT + 1, 3 * LIMIT):
        content = _of_size(size)
        chunks = [content[at : at + 65_536] for at in range(0, size, 65_536)]
        encoded = [f"{len(each):x}\r\n".encode() + each + b"\r\n" for each in chunks]
        await wire.refuses(413, await wire.send(head, *encoded, b"0\r\n\r\n"))
    content = json.dumps(SCHEDULE).encode()
    chunk = f"{len(content):x}\r\n".encode() + content + b"\r\n0\r\n\r\n"
    assert (await wire.send(head, chunk))[0] == 201


NOT_JSON = (
    b"[" * 100_000 + b"]" * 100_000,
    b'{"payload": ' + b'{"a":' * 80_000 + b"1" + b"}" * 80_000 + b"}",
    b'{"name": "one", "name": "two"}',
    b'{"payload": {"a": 1, "b": [{"c": 1, "c": 1}]}}',
    b'{"payload": NaN}',
    b'{"payload": -Infinity}',
    b'{"name": "\xff\xfe"}',
    b"\xef\xbb\xbf" + json.dumps(SCHEDULE).encode(),
    json.dumps(SCHEDULE).encode("utf-16"),
    b'{"name": "\\ud800"}',
    b"name=x",
    b"[]",
    b"7",
)


async def test_what_is_no_plain_json_object_is_a_400(wire: Wire) -> None:
    for content in NOT_JSON:
        await wire.refuses(400, await wire.post(content))


async def test_a_body_says_that_it_is_json(wire: Wire) -> None:
    for kind in ("", "text/plain", "application/jsonx", "multipart/form-data"):
        line = f"Content-Type: {kind}\r\n" if kind else ""
        await wire.refuses(415, await wire.post(json.dumps(SCHEDULE).encode(), line))


TOO_LONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"payload": "x" * (256 * 1024 - 1)}, "payload"),
    ({"name": "n" * 201}, "name"),
    ({"key": "k" * 301}, "key"),
    ({"description": "d" * 5_001}, "description"),
    ({"tags": ["t" * 101]}, "tags"),
    ({"target_url": "https://x.example/" + "u" * 10_000}, "target_url"),
    ({"headers": {"X": "h" * 100_000}}, "headers"),
    ({"headers": {f"X-{at}": "h" for at in range(100)}}, "headers"),
    ({"cron_expr": "* " * 200}, "cron_expr"),
)


async def test_a_field_that_is_too_long_is_named(wire: Wire) -> None:
    for fields, field in TOO_LONG:
        problem = await wire.refuses(422, await wire.post(json.dumps(made_of(**fields)).encode()))
        assert any(each["field"].startswith(field) for each in problem["errors"]), field


async def test_an_address_may_be_so_long_and_no_longer(wire: Wire) -> None:
    path = "/v1/schedules?q="
    longest = path + "q" * (1_000)
    assert (await wire.send(wire.head(f"GET {longest}")))[0] == 200
    too_long = path + "q" * bounded_http.MAX_TARGET
    await wire.refuses(414, await wire.send(wire.head(f"GET {too_long}")))


async def test_an_address_that_is_not_ascii_is_a_400(wire: Wire) -> None:
    for target in (b"/v1/nothing?q=\xff", b"/v1/schedules?q=\xc3\xa9", b"/v1/schedules/\xe9"):
        line = wire.head("GET TARGET").replace(b"TARGET", target)
        await wire.refuses(400, await wire.send(line))


async def test_headers_have_bounds(wire: Wire) -> None:
    for more in (
        "X-A: " + "a" * bounded_http.MAX_HEADERS + "\r\n",
        "".join(f"X-{at}: a\r\n" for at in range(bounded_http.MAX_COUNT)),
        "X-A: " + "a" * 1_000_000 + "\r\n",
    ):
        await wire.refuses(431, await wire.send(wire.head("GET /v1/schedules", more)))
    # One that never ends must not be waited for.
    begun = wire.head("GET /v1/schedules")[:-2] + b"X-Endless: "
    await wire.refuses(431, await wire.send(begun, b"a" * 200_000))


async def test_the_largest_headers_are_taken_with_a_body_in_the_same_packet(wire: Wire) -> None:
    content = json.dumps(SCHEDULE).encode()
    length = f"Content-Length: {len(content)}\r\nX-A: {'a' * 30_000}\r\n"
    assert (await wire.send(wire.head("POST /v1/schedules", JSON, length) + content))[0] == 201


async def test_what_is_no_http_is_a_400(wire: Wire) -> None:
    await wire.refuses(400, await wire.send(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"))


async def test_what_is_not_there_is_a_404(wire: Wire) -> None:
    for path in ("/v1/nothing", "/v1/schedules/x/y/z", "/", "/v1"):
        answer = await wire.send(wire.head(f"GET {path}"))
        if path == "/" and answer[0] != 404:
            continue  # something is there for people
        await wire.refuses(404, answer)


async def test_another_method_is_a_405_that_says_which_there_are(wire: Wire) -> None:
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        problem = await wire.refuses(405, await wire.send(wire.head(f"{method} /v1/schedules")))
        allowed = {each.strip() for each in problem["headers"]["allow"].split(",")}
        assert allowed == {"GET", "OPTIONS", "POST"}


async def test_a_fault_shows_nothing_of_our_insides(wire: Wire) -> None:
    problem = await wire.refuses(500, await wire.send(wire.head("GET /fails")))
    assert "hunter2" not in json.dumps(problem)
    assert "RuntimeError" not in json.dumps(problem)
    assert "rota/" not in json.dumps(problem)
