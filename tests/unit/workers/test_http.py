"""Calling a real server with bad habits (HX1 to HX3, S2, S3, S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.deadlines import Strain
from tests.unit.workers.made import claim, schedule
from tests.unit.workers.target import Target, serving

from rota.clock import SystemClock
from rota.targets import OPEN, TargetPolicy
from rota.workers.delivery.http import MAX_BODY, HttpCaller

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.workers.caller import Reply


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    async with serving() as it:
        yield it


async def call(target: Target, path: str, **fields: Any) -> Reply:
    made = schedule(target_url=f"{target.url}{path}", **fields)
    async with HttpCaller(OPEN) as caller:
        return await caller.prepare(claim(), made).send()


async def test_what_is_sent_arrives(target: Target) -> None:
    reply = await call(
        target, "/ok?a=%7E&b=%2F", method="PUT", headers={"X-Own": "1"}, payload={"a": 1}
    )
    assert (reply.code, reply.body, reply.error) == (200, b"fine", None)
    assert ("X-Answer", "42") in reply.headers
    (request,) = target.received
    assert (request.method, request.path, request.body) == ("PUT", "/ok?a=%7E&b=%2F", b'{"a":1}')
    assert request.headers["X-Own"] == "1"
    assert request.headers["Rota-Attempt"] == "1"
    assert request.headers["Accept-Encoding"] == "identity"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["User-Agent"].startswith("Rota/")


async def test_a_request_without_content_has_no_type(target: Target) -> None:
    await call(target, "/ok", method="GET")
    assert "Content-Type" not in target.received[0].headers


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(target: Target, code: int) -> None:
    """S3."""
    assert (await call(target, f"/status/{code}")).code == code
    assert len(target.received) == 1


async def test_an_answer_that_does_not_come_is_given_up_in_time(target: Target) -> None:
    """HX2."""
    clock = SystemClock()
    strain, started = Strain(), clock.monotonic()
    reply = await call(target, "/slow/30", timeout_seconds=0.3)
    assert (reply.timed_out, reply.error) == (True, "timed out after 0.3 s")
    assert 0.25 <= clock.monotonic() - started < 2 + strain.seconds


async def test_a_target_that_drips_bytes_is_given_up_in_time(target: Target) -> None:
    """S5: a limit on single reads would never be reached."""
    clock = SystemClock()
    strain, started = Strain(), clock.monotonic()
    reply = await call(target, "/drip", timeout_seconds=0.5)
    assert reply.timed_out
    assert clock.monotonic() - started < 2 + strain.seconds


async def test_a_body_without_end_is_read_up_to_the_cap(target: Target) -> None:
    """HX3."""
    reply = await call(target, "/huge")
    assert (reply.code, reply.error, len(reply.body)) == (200, None, MAX_BODY)


async def test_a_connection_that_is_reset_is_a_failure_with_a_reason(target: Target) -> None:
    reply = await call(target, "/reset")
    assert (reply.code, reply.timed_out) == (None, False)
    assert reply.error == "the server closed the connection without an answer"


async def test_a_body_that_breaks_off_is_a_failure_with_what_came(target: Target) -> None:
    reply = await call(target, "/broken")
    assert (reply.code, reply.body, reply.error is None) == (200, b"x", False)


async def test_nobody_there_is_a_failure_with_a_reason() -> None:
    async with HttpCaller(OPEN) as caller:
        call = caller.prepare(claim(), schedule(target_url="http://127.0.0.1:1/"))
        reply = await call.send()
    assert reply.code is None
    assert reply.error is not None
    assert "127.0.0.1" in reply.error


async def test_cookies_are_not_kept(target: Target) -> None:
    async with HttpCaller(OPEN) as caller:
        for _ in range(2):
            reply = await caller.prepare(claim(), schedule(target_url=f"{target.url}/ok")).send()
            assert ("Set-Cookie", "a=b") in reply.headers
    assert "Cookie" not in target.received[1].headers


async def test_bytes_that_are_no_text_come_as_they_are(target: Target) -> None:
    reply = await call(target, "/odd")
    assert reply.body == b"\x00\xff\xfe"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_target_is_not_called_unless_that_is_allowed(
    target: Target, host: str
) -> None:
    """S1: names and literal addresses alike."""
    port = int(target.url.rpartition(":")[2])
    made = schedule(target_url=f"http://{host}:{port}/ok")
    async with HttpCaller(TargetPolicy()) as caller:
        reply = await caller.prepare(claim(), made).send()
    assert reply.code is None
    assert reply.error is not None
    assert "ROTA_ALLOW_PRIVATE_TARGETS=1" in reply.error
    assert target.received == []
