"""What only ASGI has: tasks, parts of bodies, other protocols. Without a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.receiver.signed import NOW, SECRET, headers

from rota.clock import ManualClock
from rota.receiver import Receiver

if TYPE_CHECKING:
    from rota.receiver.asgi import Message, Receive, Scope, Send

Sent = list[dict[str, Any]]


def receiver(**fields: Any) -> Receiver:
    return Receiver(secrets=[SECRET], clock=ManualClock(NOW), **fields)


def scope(found: dict[str, str]) -> dict[str, Any]:
    pairs = [(name.lower().encode(), value.encode()) for name, value in found.items()]
    return {"type": "http", "method": "POST", "path": "/", "headers": pairs}


async def call(app: Any, parts: list[bytes], found: dict[str, str]) -> Sent:
    """Send a body in parts; what comes back."""
    sent: Sent = []
    left = list(parts)

    async def receive() -> Message:
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Message) -> None:
        sent.append(dict(message))

    await app(scope(found), receive, send)
    return sent


async def fine(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body"})


async def test_of_many_tasks_with_one_firing_one_is_handled() -> None:
    handled = 0
    may_go = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal handled
        handled += 1
        await may_go.wait()
        await fine(scope, receive, send)

    guarded = receiver().asgi(app)
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(call(guarded, [b"{}"], headers())) for _ in range(100)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        may_go.set()
    assert handled == 1
    statuses = sorted(each.result()[0]["status"] for each in calls)
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {200, 409}


async def test_a_body_in_parts_is_verified_and_read_whole_and_then_the_client_is_gone() -> None:
    seen: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend([await receive(), await receive()])
        await fine(scope, receive, send)

    await call(receiver().asgi(app), [b'{"a"', b": ", b"1}"], headers(b'{"a": 1}'))
    assert seen == [
        {"type": "http.request", "body": b'{"a": 1}', "more_body": False},
        {"type": "http.disconnect"},
    ]


async def test_an_endless_body_is_not_read_to_its_end() -> None:
    parts = [b"x" * 100] * 1_000
    sent = await call(receiver(max_body=1_000).asgi(fine), parts, headers())
    assert sent[0]["status"] == 413


async def test_a_client_that_goes_away_while_sending_gets_nothing() -> None:
    assert await call(receiver().asgi(fine), [], headers()) == []


async def test_a_task_that_is_cancelled_leaves_the_firing_free() -> None:
    entered = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        await asyncio.Event().wait()

    guard = receiver()
    task = asyncio.create_task(call(guard.asgi(app), [b"{}"], headers()))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await call(guard.asgi(fine), [b"{}"], headers()))[0]["status"] == 200


async def test_what_goes_wrong_after_the_answer_does_not_undo_it() -> None:
    """A background task that fails: the client has been told of success."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await fine(scope, receive, send)
        raise RuntimeError("afterwards")

    guarded = receiver().asgi(app)
    with pytest.raises(RuntimeError, match="afterwards"):
        await call(guarded, [b"{}"], headers())
    again = await call(guarded, [b"{}"], headers())
    assert (b"rota-duplicate", b"true") in again[0]["headers"]


async def test_a_header_that_comes_twice_is_not_believed() -> None:
    """Whoever reads the first and whoever reads the last would see two requests."""
    twice = scope(headers())
    twice["headers"].append((b"webhook-id", b"fir_2"))
    sent: Sent = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(dict(message))

    await receiver().asgi(fine)(twice, receive, send)
    assert sent[0]["status"] == 401


async def test_lifespan_passes_and_websockets_do_not() -> None:
    types: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        types.append(scope["type"])

    async def receive() -> Message:
        raise AssertionError("nothing to receive")

    sent: Sent = []

    async def send(message: Message) -> None:
        sent.append(dict(message))

    guarded = receiver().asgi(app)
    await guarded({"type": "lifespan"}, receive, send)
    await guarded({"type": "websocket", "headers": []}, receive, send)
    assert types == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_receiver_without_a_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one signing key"):
        Receiver(secrets=[])


async def test_older_fences_pass_where_they_are_not_checked() -> None:
    guarded = receiver(check_fence=False).asgi(fine)
    for firing, fence in (("a", 8), ("b", 7)):
        found = headers(firing=firing, schedule="s", fence=fence)
        assert (await call(guarded, [b"{}"], found))[0]["status"] == 200
