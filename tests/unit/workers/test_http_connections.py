"""Connections: what is shared, with whom, for how long, and what is never sent twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
import uvloop
from tests.hostile.raw import OK, Server, Visit, answering, serving
from tests.unit.workers.made import TENANT_ID, Permission, claim, schedule

from rota.targets import OPEN
from rota.workers.caller import WITHHELD
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.http.connection import Connection
from rota.workers.delivery.http.origin import origin, split
from rota.workers.delivery.http.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.workers.caller import Reply


async def call(
    caller: HttpCaller, server: Server, tenant: UUID = TENANT_ID, **fields: Any
) -> Reply:
    made = schedule(target_url=f"{server.url}/", **fields)
    return await caller.prepare(claim(tenant_id=tenant), made).send()


async def test_requests_that_follow_each_other_share_a_connection() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            for _ in range(5):
                assert (await call(caller, server)).code == 200
    assert (server.connections, len(server.requests)) == (1, 5)


async def test_tenants_never_share_a_connection() -> None:
    """S2."""
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            for tenant in (uuid4(), uuid4(), uuid4()):
                assert (await call(caller, server, tenant)).code == 200
    assert server.connections == 3


async def test_one_that_must_be_sent_once_has_a_connection_of_its_own() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            for _ in range(3):
                assert (await call(caller, server, delivery="at_most_once")).code == 200
    assert server.connections == 3


def _closing_after_one(visit: Visit) -> None:
    """Answers once; the second request on a connection is read, and dropped without a word."""
    visit.read()
    visit.send(OK)
    visit.read()


async def test_a_request_is_not_sent_again_when_a_shared_connection_ended_unanswered() -> None:
    """The target may have had it: the next is an attempt of its own, on a new connection."""
    with serving(_closing_after_one) as server:
        async with HttpCaller(OPEN) as caller:
            assert (await call(caller, server)).code == 200
            reply = await call(caller, server)
            assert (server.connections, len(server.requests)) == (1, 2)
            assert (reply.code, reply.stale_connection) == (None, True)
            assert (await call(caller, server)).code == 200
    assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_call_whose_right_to_begin_has_ended_sends_nothing() -> None:
    """Asked after the connection is made: that may have taken any time."""
    begin = Permission(False, True, False)
    with serving(answering(OK)) as server:
        made = schedule(target_url=f"{server.url}/")
        async with HttpCaller(OPEN) as caller:
            assert await caller.prepare(claim(), made).send(begin) is WITHHELD
            assert len(server.requests) == 0
            assert (await caller.prepare(claim(), made).send(begin)).code == 200
            assert await caller.prepare(claim(), made).send(begin) is WITHHELD
    assert len(server.requests) == 1


async def test_a_new_connection_that_ends_unanswered_is_not_replaced() -> None:
    with serving(lambda visit: visit.read()) as server:
        async with HttpCaller(OPEN) as caller:
            reply = await call(caller, server)
    assert reply.error == "the server closed the connection without an answer"
    assert (server.connections, len(server.requests)) == (1, 1)


async def test_half_an_answer_on_a_shared_connection_is_not_asked_for_again() -> None:
    def behave(visit: Visit) -> None:
        visit.read()
        visit.send(OK)
        visit.read()
        visit.send(b"H")

    with serving(behave) as server:
        async with HttpCaller(OPEN) as caller:
            assert (await call(caller, server)).code == 200
            reply = await call(caller, server)
    assert reply.error == "the connection ended in the middle of the answer"
    assert (server.connections, len(server.requests)) == (1, 2)


ENDINGS: dict[str, tuple[bytes, bytes, bool]] = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", b"body", True),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
        b"body",
        True,
    ),
    "trailer": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n",
        b"body",
        True,
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\n\r\n", b"", True),
    "not modified, with a length": (b"HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", b"", True),
    "empty": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nbody", b"body", True),
    "close": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody",
        b"body",
        False,
    ),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", b"body", False),
}


@pytest.mark.parametrize("kind", list(ENDINGS))
async def test_an_answer_ends_where_it_says(kind: str) -> None:
    data, body, kept = ENDINGS[kind]
    with serving(answering(data)) as server:
        async with HttpCaller(OPEN) as caller:
            for _ in range(2):
                reply = await call(caller, server)
                assert (reply.body, reply.error) == (body, None)
    assert server.connections == (1 if kept else 2)


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    def end(_: Visit) -> None:
        """Return, and so close."""

    with serving(answering(b"HTTP/1.1 200 OK\r\n\r\nall of it", then=end)) as server:
        async with HttpCaller(OPEN) as caller:
            reply = await call(caller, server)
    assert (reply.code, reply.body, reply.error) == (200, b"all of it", None)


async def test_the_answer_to_head_has_no_body_whatever_its_length() -> None:
    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")) as server:
        async with HttpCaller(OPEN) as caller:
            for _ in range(2):
                reply = await call(caller, server, method="HEAD")
                assert (reply.code, reply.body, reply.error) == (200, b"", None)


async def test_one_that_is_given_up_leaves_nothing_for_the_next() -> None:
    first = asyncio.Event()
    loop = asyncio.get_running_loop()

    def behave(visit: Visit) -> None:
        request = visit.read()
        loop.call_soon_threadsafe(first.set)
        if b"GET" in request:
            visit.wait()
        visit.send(OK)

    with serving(behave) as server:
        async with HttpCaller(OPEN) as caller:
            task = asyncio.create_task(call(caller, server, method="GET"))
            await first.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await call(caller, server)).code == 200
            assert server.connections == 2


async def test_a_pool_keeps_no_more_than_it_may_and_none_for_long() -> None:
    loop = asyncio.get_running_loop()
    with serving(answering(OK)) as server:
        place = origin(server.url)

        async def connect() -> Connection:
            _, made = await loop.create_connection(
                lambda: Connection(loop), server.host, server.port
            )
            return made

        pool, key = Pool(max_idle=2), (TENANT_ID, place)
        made = [await connect() for _ in range(3)]
        for each in made:
            pool.give(key, each)
        assert [each.is_open for each in made] == [True, True, False]
        assert pool.take((uuid4(), place)) is None
        made[1].idle_until -= 1.6
        assert pool.take(key) is made[0]
        assert (len(pool), made[1].is_open) == (0, False)
        pool.give(key, made[0])
        made[0].idle_until -= 1.6
        pool._swept()
        assert (len(pool), made[0].is_open) == (0, False)
        pool.close()
        last = await connect()
        pool.give(key, last)
        assert not last.is_open


@pytest.mark.parametrize(
    ("url", "authority", "port", "target"),
    [
        ("https://Example.com", "example.com", 443, "/"),
        ("https://example.com.:443/a?b#c", "example.com", 443, "/a?b"),
        ("HTTP://example.com:8080?x", "example.com:8080", 8080, "/?x"),
        ("http://[::1]:80/", "[::1]", 80, "/"),
        ("http://[::1]:81/", "[::1]:81", 81, "/"),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, port: int, target: str) -> None:
    place, asked = split(url)
    assert (place.authority, place.port, asked) == (authority, port, target)


@pytest.mark.parametrize("url", ["ftp://x/", "http://", "x", "http://u@h/", "http://a\\b/", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        split(url)


@pytest.mark.parametrize(
    "test",
    [
        test_requests_that_follow_each_other_share_a_connection,
        test_a_request_is_not_sent_again_when_a_shared_connection_ended_unanswered,
        test_an_answer_without_a_length_ends_with_the_connection,
        test_half_an_answer_on_a_shared_connection_is_not_asked_for_again,
    ],
)
def test_it_is_the_same_under_uvloop(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
