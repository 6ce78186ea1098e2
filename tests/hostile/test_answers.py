"""S5: answers without end, without shape or without hurry cost a bounded time and memory."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from typing import TYPE_CHECKING

import pytest
from tests.deadlines import Strain
from tests.hostile.bounds import CLOCK, DEADLINE, HEAD, bounded
from tests.hostile.calling import call, call_with
from tests.hostile.raw import OK, Visit, answering, serving

from rota.targets import OPEN
from rota.workers.delivery.http import MAX_BODY, HttpCaller

if TYPE_CHECKING:
    from tests.hostile.raw import Behave


@pytest.fixture(autouse=True)
async def warm() -> None:
    """What the first call of all takes is not the target's doing."""
    with serving(answering(OK)) as server:
        for _ in range(20):
            await call(server.url)


def _zeros(megabytes: int) -> bytes:
    return gzip.compress(b"\0" * (megabytes * 1024 * 1024))


def _nested(times: int) -> bytes:
    data = _zeros(20)
    for _ in range(times - 1):
        data = gzip.compress(data)
    return data


# What 100 MB of zeros are in brotli and zstd is beside the point: the bytes are never looked at.
BOMBS = {
    "gzip": _zeros(100),
    "nested gzip": _nested(6),
    "deflate": zlib.compress(b"\0" * (50 * 1024 * 1024)),
    "br": bytes.fromhex("5bffff3f00") + b"\0\x24\x80\xe2\xb1\x40\x72" * 1000,
    "zstd": bytes.fromhex("28b52ffd") + b"\xa4\0\0\0\x06" + b"\x02\0\x08\0" * 1000,
}


@pytest.mark.parametrize("kind", list(BOMBS))
@pytest.mark.parametrize("transfer", ["length", "chunked"])
async def test_a_bomb_is_kept_as_the_bytes_it_is(kind: str, transfer: str) -> None:
    bomb = BOMBS[kind]
    encoding = f"Content-Encoding: {kind.rpartition(' ')[2]}\r\n".encode()
    if transfer == "length":
        answer = HEAD + encoding + f"Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb
    else:
        framed = f"{len(bomb):x}\r\n".encode() + bomb + b"\r\n0\r\n\r\n"
        answer = HEAD + encoding + b"Transfer-Encoding: chunked\r\n\r\n" + framed
    with serving(answering(answer)) as server:
        async with bounded():
            reply = await call(server.url)
    assert (reply.code, reply.error, reply.body) == (200, None, bomb)


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "body by length": (HEAD + b"Content-Length: 99999999999\r\n\r\n", b"x" * 65_536),
    "body until closed": (HEAD + b"\r\n", b"x" * 65_536),
    "one chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n", b"x" * 65_536),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
}


@pytest.mark.parametrize("kind", list(ENDLESS))
async def test_a_body_without_end_is_cut_at_the_cap(kind: str) -> None:
    head, more = ENDLESS[kind]
    with serving(answering(head, then=lambda visit: visit.send_for_ever(more))) as server:
        # The body itself is a megabyte, and it is joined of parts.
        async with bounded():
            reply = await call(server.url)
    assert (reply.code, reply.error, len(reply.body)) == (200, None, MAX_BODY)


CAPPED: dict[str, tuple[bytes, bytes, str]] = {
    "headers": (HEAD, b"X-Y: " + b"v" * 500 + b"\r\n", "headers"),
    "small headers": (HEAD, b"a: b\r\n" * 100, "more than 100 headers"),
    "one header's value": (HEAD + b"X-Y: ", b"v" * 65_536, "headers are larger than 64 kB"),
    "one header's name": (HEAD, b"v" * 65_536, "headers are larger than 64 kB"),
    "the reason": (b"HTTP/1.1 200 ", b"v" * 65_536, "headers are larger than 64 kB"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, "interim answers"),
    "early hints": (b"", b"HTTP/1.1 103 E\r\nLink: x\r\n\r\n" * 100, "interim answers"),
    "a trailer": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Y: ",
        b"v" * 65_536,
        "headers are larger than 64 kB",
    ),
    "trailers": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
        b"X-Y: " + b"v" * 500 + b"\r\n",
        "headers are larger than 64 kB",
    ),
    "a chunk's extension": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;",
        b"v" * 65_536,
        "headers are larger than 64 kB",
    ),
}


@pytest.mark.parametrize("kind", list(CAPPED))
async def test_headers_and_interim_answers_without_end_are_an_error(kind: str) -> None:
    head, more, error = CAPPED[kind]
    with serving(answering(head, then=lambda visit: visit.send_for_ever(more))) as server:
        async with bounded():
            reply = await call(server.url)
    assert reply.error is not None
    assert error in reply.error
    assert not reply.timed_out


async def test_a_million_interim_answers_are_given_up_after_ten() -> None:
    def behave(visit: Visit) -> None:
        visit.read()
        for _ in range(1000):
            visit.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)
        visit.send(OK)

    with serving(behave) as server:
        async with bounded():
            reply = await call(server.url)
    assert reply.error == "more than 10 interim answers came before the answer"


async def test_ten_interim_answers_and_the_answer_are_an_answer() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 10
    with serving(answering(hints + OK)) as server:
        reply = await call(server.url)
    assert (reply.code, reply.body, reply.error) == (200, b"ok", None)
    assert reply.headers == (("Content-Length", "2"),)


def _drip(head: bytes, more: bytes) -> Behave:
    return answering(head, then=lambda visit: visit.send_for_ever(more, every=0.2))


SLOW: dict[str, Behave] = {
    "drips the status": _drip(b"HTTP/1.1 2", b""),
    "drips headers": _drip(HEAD + b"X-Y: ", b"v"),
    "drips a body": _drip(HEAD + b"Content-Length: 1000\r\n\r\n", b"x"),
    "drips chunks": _drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "drips interim answers": _drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "reads and says nothing": answering(b"", then=lambda visit: visit.wait()),
    "never reads": lambda visit: visit.wait(),
    "says that there is more": answering(HEAD + b"Content-Length: 9\r\n\r\nok"),
}


@pytest.mark.parametrize("kind", list(SLOW))
async def test_one_deadline_covers_it_all(kind: str) -> None:
    with serving(SLOW[kind]) as server:
        async with bounded():
            reply = await call(server.url, timeout_seconds=DEADLINE, payload={"x": "y" * 200_000})
    assert (reply.timed_out, reply.code) == (True, None)
    assert reply.error == f"timed out after {DEADLINE:g} s"


async def test_one_that_never_accepts_is_given_up_in_time() -> None:
    """Its queue is full, so that not even the connection is made."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        held = [socket.socket() for _ in range(8)]
        for each in held:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        async with bounded():
            reply = await call(f"http://127.0.0.1:{port}/", timeout_seconds=DEADLINE)
        for each in held:
            each.close()
    assert reply.timed_out


async def test_a_look_up_that_hangs_is_given_up_in_time() -> None:
    async def hang(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with bounded():
        reply = await call("http://slow.example/", lookup=hang, timeout_seconds=DEADLINE)
    assert reply.timed_out


async def test_targets_that_flood_do_not_hold_up_another() -> None:
    """While some send as fast as they can, another one's answers still come at once."""
    head, more = ENDLESS["one chunk"]
    flood = answering(head, then=lambda visit: visit.send_for_ever(more))
    over = asyncio.Event()

    async def flooded(caller: HttpCaller, url: str) -> None:
        while not over.is_set():
            await call_with(caller, url)

    with serving(flood) as bad, serving(answering(OK)) as good:
        async with HttpCaller(OPEN) as caller:
            floods = [asyncio.create_task(flooded(caller, bad.url)) for _ in range(3)]
            strain, slowest = Strain(), 0.0
            for _ in range(50):
                started = CLOCK.monotonic()
                assert (await call_with(caller, good.url)).code == 200
                slowest = max(slowest, CLOCK.monotonic() - started)
            over.set()
            await asyncio.gather(*floods)
    assert slowest < 0.5 + strain.seconds
