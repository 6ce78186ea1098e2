"""S5: answers that break off, that are no HTTP, or that nobody asked for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from tests.hostile.bounds import CLOCK, HEAD, bounded
from tests.hostile.calling import call, call_with
from tests.hostile.raw import OK, Visit, answering, serving

from rota.targets import OPEN
from rota.workers.delivery.http import HttpCaller


@pytest.fixture(autouse=True)
async def warm() -> None:
    """What the first call of all takes is not the target's doing."""
    with serving(answering(OK)) as server:
        for _ in range(20):
            await call(server.url)


BROKEN: dict[str, tuple[bytes, int | None, bytes]] = {
    "nothing": (b"", None, b""),
    "half a status": (b"HTTP/1.1 20", None, b""),
    "half the headers": (HEAD + b"Content-Le", None, b""),
    "half a body": (HEAD + b"Content-Length: 10\r\n\r\nhalf", 200, b"half"),
    "half a chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", 200, b"half"),
    "no last chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", 200, b"half"),
}


@pytest.mark.parametrize("kind", list(BROKEN))
@pytest.mark.parametrize("end", ["close", "reset"])
async def test_an_answer_that_breaks_off_is_an_error_with_what_came(kind: str, end: str) -> None:
    data, code, body = BROKEN[kind]

    def broken_off(visit: Visit) -> None:
        if end == "reset":
            # The reset takes away what the caller has not read.
            visit.wait_until_read()
            visit.reset()

    with serving(answering(data, then=broken_off)) as server:
        async with bounded():
            reply = await call(server.url)
    assert (reply.code, reply.body, reply.timed_out) == (code, body, False)
    assert reply.error in {
        "the server closed the connection without an answer",
        "the connection ended in the middle of the answer",
    }
    assert len(server.requests) == 1


MALFORMED = [
    *(b"", b"junk", b"200 OK", b"HTTP/1.1", b"HTTP/1.1 ", b"HTTP/1.1 OK", b"HTTP/1.1 20 OK"),
    *(b"HTTP/1.1 2000 OK", b"HTTP/1.1 099 Low", b"HTTP/1.1 000 None", b"HTTP/1.1 600 High"),
    *(b"HTTP/1.1 999 High", b"HTTP/1.1 -200 OK", b"HTTP/1.1 2OO OK", b"HTTP/9.9 200 OK"),
    *(b"HTTP/2 200", b"http/1.1 200 OK", b"HTTP/1.1\t200 OK", b"HTP/1.1 200 OK", b"ICY 200 OK"),
    *(b"SSH-2.0-OpenSSH_9.6", b"220 mail.example ESMTP", b"\x16\x03\x01\x02\x00", b"\0" * 100),
    *(b"HTTP/1.1 101 Switching Protocols", b"<html></html>", b"+OK\r"),
]


@pytest.mark.parametrize("line", MALFORMED)
async def test_a_status_line_that_is_none_is_an_error(line: bytes) -> None:
    ending = b"\r\nContent-Length: 0\r\n\r\n"
    with serving(answering(line + ending, then=lambda visit: visit.ended.wait(0.05))) as server:
        async with bounded():
            reply = await call(server.url)
    assert reply.code is None
    assert reply.error
    assert not reply.timed_out


BAD_FRAMES = [
    *(b"Content-Length: -1", b"Content-Length: 1e3", b"Content-Length: 1, 2", b"Content-Length: "),
    *(b"Content-Length: 99999999999999999999", b"Content-Length: 1\r\nContent-Length: 2"),
    *(
        b"Content-Length: 2\r\nTransfer-Encoding: chunked",
        b"X Y: 1",
        b": v",
        b"X-Y : 1",
        b"X\0Y: 1",
    ),
    *(b"X-Y: a\0b", b"X-Y: a\rb"),
]


@pytest.mark.parametrize("header", BAD_FRAMES)
async def test_headers_that_can_be_read_in_two_ways_are_an_error(header: bytes) -> None:
    with serving(answering(HEAD + header + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n")) as server:
        reply = await call(server.url)
    assert reply.error is not None
    assert "not HTTP" in reply.error


async def test_a_second_answer_that_nobody_asked_for_is_not_the_next_ones() -> None:
    """A target must not be able to answer a request before it is made."""
    early = b"HTTP/1.1 299 Early\r\nContent-Length: 3\r\n\r\nbad"
    for extra in (early, early[:20], b"X"):
        with serving(answering(OK + extra)) as server:
            async with HttpCaller(OPEN) as caller:
                for _ in range(3):
                    reply = await call_with(caller, server.url)
                    assert (reply.code, reply.body, reply.error) == (200, b"ok", None)
            assert server.connections == 3


async def test_bytes_that_come_while_nobody_asks_end_the_connection() -> None:
    late = b"HTTP/1.1 299 Late\r\nContent-Length: 0\r\n\r\n"
    sent = asyncio.Event()
    loop = asyncio.get_running_loop()

    def behave(visit: Visit) -> None:
        visit.read()
        visit.send(OK)
        visit.ended.wait(0.05)
        visit.send(late)
        loop.call_soon_threadsafe(sent.set)
        visit.wait()

    with serving(behave) as server:
        async with HttpCaller(OPEN) as caller:
            assert (await call_with(caller, server.url)).code == 200
            await sent.wait()
            await CLOCK.sleep(timedelta(milliseconds=50))
            assert (await call_with(caller, server.url)).code == 200
        assert server.connections == 2
