"""The listening socket: bounds in bytes, in time and in number, that need no key to hold."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.runtime import listening, web
from rota.runtime.anonymous_rate import BURST_SECONDS, AnonymousRate, Buckets
from rota.runtime.connections import MAX_STEP, ConnectionLimiter, Deadlines, Peers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

CLOCK = SystemClock()
WITHIN = 30.0
QUICK = Deadlines(idle=1, head=1, body=1, answered=1, writing=1, closing=1)
GET = b"GET / HTTP/1.1\r\nHost: rota\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: rota\r\nTransfer-Encoding: chunked\r\n\r\n"


class App:
    """Reads a POST's body, answers `ok`; /stream never ends, /wait answers when it is told to.

    /late begins its answer at once and ends it when it is told to.
    """

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        """Of the last request, when its body had come in."""
        self.released = asyncio.Event()
        self.streams = 0
        self.ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        while scope["method"] == "POST":
            message = await receive()
            if message["type"] == "http.disconnect":
                self.ended.set()
                return
            if not message.get("more_body"):
                break
        self.headers = list(scope["headers"])
        if scope["path"] == "/wait":
            await self.released.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/late":
            await self.released.wait()
        if scope["path"] == "/stream":
            self.streams += 1
            await self._stream(send)
        await send({"type": "http.response.body", "body": b"ok"})

    async def _stream(self, send: Any) -> None:
        # Uvicorn's `send` returns at once when the caller is gone, so it has to be asked.
        while not self.ended.is_set():
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await CLOCK.sleep(timedelta())


async def _live(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


class Site:
    """A server with an application, and callers of it."""

    def __init__(self, app: App, port: int, limiter: ConnectionLimiter) -> None:
        self.app = app
        self.port = port
        self.limiter = limiter

    async def call(
        self, first: bytes, host: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0))
        writer.write(first)
        return reader, writer

    async def status(self, first: bytes, host: str = "127.0.0.1") -> int:
        reader, writer = await self.call(first, host)
        try:
            async with asyncio.timeout(patience(WITHIN)):
                return int((await reader.readuntil(b"\r\n"))[9:12])
        finally:
            writer.close()

    async def answered_and_ended(self, first: bytes, *more: bytes) -> bytes:
        """All that is sent back, once the server has ended the connection."""
        reader, writer = await self.call(first)
        with suppress(ConnectionError):
            for each in more:
                writer.write(each)
                await writer.drain()
        async with asyncio.timeout(patience(WITHIN)):
            try:
                return await reader.read()
            except ConnectionError:
                return b""
            finally:
                writer.close()

    async def empty(self) -> None:
        """Return when no connection is open."""
        await _until(lambda: not len(self.limiter))


@asynccontextmanager
async def site(**limits: Any) -> AsyncGenerator[Site]:
    app, listener = App(), listening.listen("127.0.0.1", 0)
    limiter = ConnectionLimiter(**limits)
    server = web.WebServer(app, listener, limiter=limiter)
    server.start()
    try:
        yield Site(app, listener.getsockname()[1], limiter)
    finally:
        app.ended.set()
        app.released.set()
        await server.stop()


async def test_trailers_and_chunk_extensions_without_end_are_refused_and_not_kept() -> None:
    async with site() as there:
        for begin, more in (
            (b"5\r\nhello\r\n0\r\n", b"a: b\r\n" * 10_000),
            (b"5;", b"x" * 65_536),
            (b"", b"1;" + b"e" * 1_000 + b"\r\nx\r\n" + (b"1\r\nx\r\n" * 30_000)),
        ):
            answer = await there.answered_and_ended(CHUNKED + begin, *[more] * 20)
            assert answer == b"" or b" 400 " in answer.splitlines()[0]


async def test_trailers_are_not_among_the_headers_of_a_request() -> None:
    async with site() as there:
        request = CHUNKED + b"2\r\nhi\r\n0\r\nX-Trailer: 1\r\n\r\n"
        assert await there.status(request) == 200
        assert [name for name, _ in there.app.headers] == [b"host", b"transfer-encoding"]


async def test_requests_that_wait_in_line_are_few() -> None:
    async with site() as there:
        answer = await there.answered_and_ended(
            b"GET /wait HTTP/1.1\r\nHost: rota\r\n\r\n" + GET * 10_000
        )
        assert answer == b""
        await there.empty()


async def test_a_few_requests_sent_at_once_are_all_answered() -> None:
    async with site() as there:
        reader, writer = await there.call(GET * 8)
        async with asyncio.timeout(patience(WITHIN)):
            for _ in range(8):
                assert b" 200 " in await reader.readuntil(b"0\r\n\r\n")
        writer.close()


async def test_a_head_does_not_wait_for_a_body_that_takes_its_time() -> None:
    async with site() as there:
        reader, writer = await there.call(b"GET /late HTTP/1.1\r\nHost: rota\r\n\r\n")
        async with asyncio.timeout(patience(WITHIN)):
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            there.app.released.set()
            assert await reader.readuntil(b"0\r\n\r\n") == b"2\r\nok\r\n0\r\n\r\n"
        writer.close()


async def test_heads_without_a_body_are_all_sent_and_in_their_order() -> None:
    head = GET.replace(b"GET", b"HEAD")
    async with site() as there:
        reader, writer = await there.call(head * 3 + GET)
        async with asyncio.timeout(patience(WITHIN)):
            for _ in range(4):
                assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readuntil(b"0\r\n\r\n") == b"2\r\nok\r\n0\r\n\r\n"
        writer.close()
        last = head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        assert b" 200 " in await there.answered_and_ended(last)


BEGUN: tuple[tuple[str, bytes, bytes], ...] = (
    ("nothing", b"", b""),
    ("half a head", b"GET / HT", b" 408 "),
    ("empty lines", b"\r\n\r\n", b" 408 "),
    ("a second head", GET + b"GET / HT", b" 200 "),
    ("half a body", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab", b" 408 "),
    ("half a chunk", CHUNKED + b"9\r\nab", b" 408 "),
    ("half the trailers", CHUNKED + b"0\r\na: b\r\n", b" 408 "),
)


@pytest.mark.parametrize(("what", "sent", "answer"), BEGUN, ids=[each[0] for each in BEGUN])
async def test_what_is_half_sent_is_not_waited_for(what: str, sent: bytes, answer: bytes) -> None:
    async with site(deadlines=QUICK) as there:
        got = await there.answered_and_ended(sent)
        assert answer in got
        await there.empty()


@pytest.mark.parametrize("body", [False, True], ids=["head", "body"])
async def test_a_byte_now_and_then_is_no_progress(body: bool) -> None:
    async with site(deadlines=QUICK) as there:
        head = b"POST / HTTP/1.1\r\nHost: rota\r\nContent-Length: 100000\r\n"
        reader, writer = await there.call(head + (b"\r\n" if body else b"X: "))
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"a")
                await writer.drain()
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await reader.read(4_096)
        await there.empty()
        writer.close()
        assert there.app.ended.is_set() is body


async def test_who_does_not_read_the_answer_is_left() -> None:
    async with site(deadlines=QUICK) as there:
        _, writer = await there.call(b"GET /stream HTTP/1.1\r\nHost: rota\r\n\r\n")
        cast("asyncio.Transport", writer.transport).pause_reading()
        await _until(lambda: there.app.streams == 1)
        await there.empty()
        writer.transport.abort()


async def test_a_request_that_waits_for_its_answer_is_not_cut() -> None:
    async with site(deadlines=QUICK) as there:
        reader, writer = await there.call(b"GET /wait HTTP/1.1\r\nHost: rota\r\n\r\n\r\n")
        # Others come and are cut meanwhile: time has passed for this one, too.
        for _ in range(3):
            await there.answered_and_ended(b"GET / HT")
        there.app.released.set()
        async with asyncio.timeout(patience(WITHIN)):
            assert b" 200 " in await reader.readuntil(b"\r\n")
        writer.close()


async def test_connections_have_a_cap_for_each_address_and_overall() -> None:
    async with site(most=5, most_of_peer=3) as there:
        held = [await there.call(b"GET / HT", f"127.0.0.{n}") for n in (1, 1, 1)]
        await _until(lambda: len(there.limiter) == 3)
        reader, writer = await there.call(GET)
        answer = await reader.read()
        assert b" 429 " in answer
        assert b"retry-after: 5" in answer
        writer.close()
        assert await there.status(GET, "127.0.0.2") == 200
        held += [await there.call(b"GET / HT", f"127.0.0.{n}") for n in (2, 3)]
        await _until(lambda: len(there.limiter) == 5)
        assert await there.status(GET, "127.0.0.4") == 429
        for _, each in held:
            each.close()
        await there.empty()
        assert await there.status(GET) == 200


async def test_a_trusted_proxy_stands_for_many() -> None:
    async with site(most=5, most_of_peer=2, peers=Peers(["127.0.0.9/32"])) as there:
        held = [await there.call(b"GET / HT", "127.0.0.9") for _ in range(4)]
        await _until(lambda: len(there.limiter) == 4)
        assert await there.status(GET, "127.0.0.9") == 200
        for _, each in held:
            each.close()


def test_an_ipv6_network_is_one_peer() -> None:
    peers = Peers()
    assert peers.name("2001:db8::1") == peers.name("2001:db8::ffff")
    assert peers.name("2001:db8::1") != peers.name("2001:db8:0:1::1")
    assert peers.name("::ffff:192.0.2.1") == peers.name("192.0.2.1")


def test_what_is_no_address_is_a_peer_of_its_own() -> None:
    peers = Peers()
    for host in ("", "somebody", "x" * 100, "1.2.3", "::1%eth0" + "0" * 100):
        assert peers.name(host) == peers.name(host)
    assert peers.name("somebody") == "somebody"


class Known:
    """An application that knows the key `good`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (b"authorization", b"good") in scope["headers"]:
            scope["auth"] = "somebody"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def _asked(app: Any, key: bytes | None = None, host: str = "192.0.2.1") -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", key)] if key else []
    await app({"type": "http", "client": (host, 1), "headers": headers}, None, send)
    return sent[0]["status"]


async def test_strangers_have_a_rate_by_address_and_those_who_are_known_do_not() -> None:
    app = AnonymousRate(Known(), rate=1, peers=Peers(), clock=CLOCK)
    for _ in range(3 * BURST_SECONDS):
        assert await _asked(app, b"good") == 200
    answers = [await _asked(app, b"bad" if n % 2 else None) for n in range(3 * BURST_SECONDS)]
    assert 429 in answers
    assert answers[: BURST_SECONDS // 2] == [200] * (BURST_SECONDS // 2)
    assert await _asked(app, b"good") == 200, "known, from the address of the flood"
    assert await _asked(app, host="192.0.2.2") == 200


def test_a_bucket_fills_again_and_only_so_many_are_remembered() -> None:
    buckets = Buckets(rate=1, burst=2, most=3)
    assert [buckets.take("a", 0.0) for _ in range(3)] == [True, True, False]
    assert buckets.take("a", 1.0)
    assert not buckets.take("a", 1.5)
    for number in range(100):
        buckets.take(str(number), 2.0)
    assert len(buckets._left) == 3


async def _until(holds: Callable[[], bool]) -> None:
    deadline = CLOCK.monotonic() + patience(WITHIN)
    while not holds():
        assert CLOCK.monotonic() < deadline, "it did not come in time"
        await CLOCK.sleep(timedelta(milliseconds=20))


class Seen:
    """A connection that notes the instants at which it is looked at."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def end_if_late(self, now: float) -> None:
        self.at.append(now)


def test_time_in_which_the_server_stood_still_is_not_held_against_callers() -> None:
    limiter, seen = ConnectionLimiter(), Seen()
    assert limiter.enter(seen, ("192.0.2.1", 1)) is None
    for now in (100.0, 101.0, 900.0, 901.0):
        limiter.end_late(now)
    assert seen.at[-1] - seen.at[0] == 1.0 + MAX_STEP + 1.0
