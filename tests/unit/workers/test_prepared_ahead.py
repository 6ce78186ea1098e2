"""Requests that are prepared ahead of their instant, and connections that are opened for them."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.deadlines import patience
from tests.hostile.raw import OK, Server, Visit, answering, serving
from tests.unit.workers.made import TENANT_ID, Permission, claim, schedule

from rota.clock import SystemClock
from rota.targets import OPEN, TargetPolicy
from rota.workers.caller import WITHHELD, Reply
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.http import early_dial as dials
from rota.workers.delivery.http.client import _keep_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.workers.delivery.http.caller import HttpCall
    from rota.workers.delivery.http.connection import Connection
    from rota.workers.delivery.http.pool import Key


_CLOCK = SystemClock()


def prepared(caller: HttpCaller, server: Server, wait: float = 0.3, **fields: Any) -> HttpCall:
    made = schedule(target_url=f"{server.url}/", payload={"a": 1}, **fields)
    return caller.prepare_early(claim(), made, wait)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience(10)):
        while not condition():
            await _CLOCK.sleep(timedelta(milliseconds=5))


async def passed(caller: HttpCaller) -> None:
    """All that was to be opened ahead is open, or was not opened."""
    early = caller.client._early_dial
    await until(
        lambda: (
            not (
                any(each.rings for each in early._origins.values()) or early._timers or early._dials
            )
        )
    )


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
async def test_connections_are_open_before_their_requests_are_sent(delivery: str) -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            calls = [prepared(caller, server, delivery=delivery) for _ in range(5)]
            await until(lambda: server.connections == 5)
            await passed(caller)
            assert server.requests == []
            replies = await asyncio.gather(*(each.send() for each in calls))
            assert [each.code for each in replies] == [200] * 5
    assert (server.connections, len(server.requests)) == (5, 5)


async def test_what_was_prepared_is_what_would_be_sent_at_the_instant() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            early = prepared(caller, server)
            await early.send()
            made = schedule(target_url=f"{server.url}/", payload={"a": 1})
            await caller.prepare(claim(), made).send()
            assert early.shown == caller.prepare(claim(), made).shown
    assert server.requests[0] == server.requests[1]


async def test_no_connection_is_opened_for_a_call_that_is_not_made() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            calls = [prepared(caller, server, 0.5) for _ in range(3)]
            del calls[1:]
            gc.collect()
            await passed(caller)
            assert (await calls[0].send()).code == 200
    assert server.connections == 1


async def test_a_connection_that_waits_is_used_and_no_other_is_opened() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            await prepared(caller, server).send()
            later = prepared(caller, server)
            await passed(caller)
            assert (await later.send()).code == 200
    assert server.connections <= 2
    assert len(server.requests) == 2


async def test_a_request_that_may_arrive_once_is_never_sent_on_a_used_connection() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            made = schedule(target_url=f"{server.url}/")
            await caller.prepare(claim(), made).send()
            once = prepared(caller, server, delivery="at_most_once")
            await passed(caller)
            assert server.connections == 2
            await once.send()
            # What was opened ahead is used now: it is not given to the next one of that kind.
            again = caller.prepare(
                claim(), schedule(target_url=server.url, delivery="at_most_once")
            )
            assert (await again.send()).code == 200
    assert (server.connections, len(server.requests)) == (3, 3)


async def test_an_unused_connection_stays_so_when_the_right_to_begin_has_ended() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            call = prepared(caller, server, delivery="at_most_once")
            await passed(caller)
            assert await call.send(Permission(False)) == WITHHELD
            assert (await call.send()).code == 200
    assert (server.connections, len(server.requests)) == (1, 1)


async def test_tenants_do_not_share_what_was_opened_ahead() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            prepared_ = prepared(caller, server)
            await passed(caller)
            made = schedule(target_url=f"{server.url}/")
            await caller.prepare(claim(tenant_id=uuid4()), made).send()
            assert server.connections == 2
            await prepared_.send()
    assert server.connections == 2


async def test_a_server_that_ends_what_was_opened_ahead_gets_the_request_all_the_same() -> None:
    """Some do not wait long for a first request."""
    hung_up = 0

    def impatient(visit: Visit) -> None:
        nonlocal hung_up
        if hung_up == 0:
            hung_up += 1
            return
        answering(OK)(visit)

    with serving(impatient) as server:
        async with HttpCaller(OPEN) as caller:
            call = prepared(caller, server)
            await passed(caller)
            pool = caller.client._pool
            key = next(iter(pool._unused))
            await until(lambda: not pool.ready(key, 0.0, unused=True))
            assert (await call.send()).code == 200
    assert (server.connections, len(server.requests)) == (2, 1)


async def test_a_host_that_may_not_be_called_is_not_connected_to_ahead() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(TargetPolicy()) as caller:
            call = prepared(caller, server)
            await passed(caller)
            assert "loopback" in str((await call.send()).error)
    assert server.connections == 0


async def test_a_host_that_cannot_be_connected_to_is_not_tried_for_each() -> None:
    with serving(answering(OK)) as server:
        pass
    async with HttpCaller(OPEN) as caller:
        first = prepared(caller, server)
        await passed(caller)
        early = caller.client._early_dial
        assert {tenant for tenant, _ in early._failed} == {TENANT_ID}
        tried: list[object] = []

        async def connect(key: Key) -> Connection:
            tried.append(key)
            raise AssertionError("tried again")

        early._connect = connect
        second = prepared(caller, server)
        await passed(caller)
        assert tried == []
        for call in (first, second):
            assert (await call.send()).refused


async def test_no_more_are_opened_for_an_origin_than_are_called_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dials, "MOST", 3)
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            calls = [prepared(caller, server) for _ in range(10)]
            await until(lambda: server.connections == 3)
            await passed(caller)
            assert server.connections == 3
            assert len(calls) == 10


async def test_a_tenant_whose_hosts_do_not_answer_leaves_room_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dials, "MOST_AT_ONCE", 6)
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            early = caller.client._early_dial
            connect = early._connect

            async def hang(key: Key) -> Connection:
                if key[0] == TENANT_ID:
                    await asyncio.Event().wait()
                return await connect(key)

            early._connect = hang
            hanging = [prepared(caller, server, 0.2) for _ in range(10)]
            await until(lambda: early._dialling[TENANT_ID] == 3)
            made, other = schedule(target_url=f"{server.url}/"), uuid4()
            quick = caller.prepare_early(claim(tenant_id=other), made, 0.3)
            # Accepted, and in the pool: what is sent before that opens a connection of its own.
            await until(lambda: server.connections == 1 and not early._dialling[other])
            assert (await quick.send()).code == 200
            assert (len(hanging), early._dialling[TENANT_ID]) == (10, 3)
    assert server.connections == 1


async def test_nothing_is_remembered_of_what_is_over() -> None:
    with serving(answering(OK)) as server:
        async with HttpCaller(OPEN) as caller:
            early = caller.client._early_dial
            calls = [prepared(caller, server, 0.2) for _ in range(3)]
            await until(lambda: server.connections == 3)
            await until(lambda: not early._origins)
            left = (early._waiting, early._dialling, early._dials, early._requests)
            assert not any(left)
            assert len(calls) == 3


async def test_closing_leaves_nothing_behind() -> None:
    with serving(answering(OK)) as server:
        caller = HttpCaller(OPEN)
        call = prepared(caller, server, 0.4)
        await caller.close()
        assert (call is not None, server.connections) == (True, 0)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("", 1.5),
        ("timeout=5", 4.0),
        ("max=100, Timeout=75", 60.0),
        ("timeout=1", 0.0),
        ("timeout=0", 0.0),
        ("timeout=x", 1.5),
    ],
)
def test_connections_wait_as_long_as_their_server_says(said: str, seconds: float) -> None:
    assert _keep_seconds(Reply(code=200, headers=(("Keep-Alive", said),))) == seconds
