"""A tenant that is not the operator's, on an installation whose operator may call everything.

It calls nothing private, and from what it is told it cannot learn what a name resolves to.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from tests.hostile.calling import canary
from tests.hostile.raw import OK, answering, serving
from tests.ports import reserve_port
from tests.unit.workers.made import TENANT_ID, claim, schedule

from rota.config import load
from rota.events import Bus, Recorder
from rota.runtime.targets import TargetNotCalled, reporter, target_policy
from rota.targets.policy import HIDDEN
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.http.resolver import Resolver
from rota.workers.delivery.redis_streams import StreamCaller

if TYPE_CHECKING:
    from rota.workers.caller import Reply

OPERATOR = uuid4()
PUBLIC = "93.184.216.34"
EMBEDDED = load({}, {"HOME": "/home/ana", "ROTA_DENY_TARGETS": "203.0.113.0/24,denied.example"})
POLICY = target_policy(EMBEDDED, OPERATOR)

NAMES: dict[str, list[str] | None] = {
    "unknown.example": None,
    "empty.example": [],
    "loopback.example": ["127.0.0.1"],
    "private.example": ["10.0.0.5"],
    "mixed.example": [PUBLIC, "10.0.0.5"],
    "metadata.example": ["169.254.169.254"],
    "listed.example": ["203.0.113.9"],
    "denied.example": [PUBLIC],
    "localhost": ["127.0.0.1"],
    "ip6-loopback": ["::1"],
}


async def _look_up(host: str, port: int) -> list[str]:
    found = NAMES[host]
    if found is None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return found


async def _call(tenant: UUID, url: str) -> Reply:
    async with HttpCaller(POLICY, lookup=_look_up) as caller:
        made = schedule(target_url=url, timeout_seconds=60.0)
        return await caller.prepare(claim(tenant_id=tenant), made).send()


@pytest.mark.parametrize("host", [*NAMES, "127.0.0.1", "[::1]", "10.1.2.3", "169.254.169.254"])
async def test_whatever_is_wrong_with_a_host_the_tenant_hears_the_same(host: str) -> None:
    with canary() as bird:
        reply = await _call(uuid4(), f"http://{host}:{bird.port}/")
        assert (reply.code, reply.error, reply.sent) == (None, HIDDEN, False)
        assert bird.connections == 0


@pytest.mark.parametrize("host", ["unknown.example", "private.example", "listed.example"])
async def test_so_it_is_for_streams(host: str) -> None:
    tenant = uuid4()
    async with StreamCaller(POLICY, lookup=_look_up) as caller:
        made = schedule(target_url=None, stream=f"redis://{host}/events", timeout_seconds=60.0)
        reply = await caller.prepare(claim(tenant_id=tenant, lane="stream"), made).send()
    assert (reply.error, reply.sent) == (HIDDEN, False)


async def test_the_operators_tenant_is_called_and_told_all() -> None:
    with serving(answering(OK)) as server:
        reply = await _call(OPERATOR, f"http://loopback.example:{server.port}/")
        assert reply.code == 200
    reply = await _call(OPERATOR, "http://listed.example/")
    assert "203.0.113.9" in (reply.error or "")
    assert "was not found" in ((await _call(OPERATOR, "http://unknown.example/")).error or "")


async def test_what_was_looked_up_for_the_operator_is_judged_again_for_others() -> None:
    resolver = Resolver(POLICY, _look_up)
    assert await resolver.addresses(OPERATOR, "private.example", 80) == ("10.0.0.5",)
    with pytest.raises(Exception, match=HIDDEN):
        await resolver.addresses(uuid4(), "private.example", 80)
    await resolver.close()


async def test_the_operators_log_says_why() -> None:
    bus = Bus()
    events = Recorder(bus)
    resolver = Resolver(POLICY, _look_up, reporter(bus))
    for host in ("unknown.example", "private.example"):
        with pytest.raises(Exception, match=HIDDEN):
            await resolver.addresses(TENANT_ID, host, 80)
    await resolver.close()
    unknown, private = events.all(TargetNotCalled)
    assert "not found" in unknown.why
    assert "10.0.0.5" in private.why
    assert private.tenant_id == TENANT_ID


async def test_a_public_host_that_does_not_answer_is_named_without_its_addresses() -> None:
    """Which names lead where, and how many addresses they have, is not told either."""
    opened = target_policy(
        load({}, {"HOME": "/home/ana", "ROTA_ALLOW_PRIVATE_TARGETS": "1"}), OPERATOR
    )
    port = reserve_port()

    async def look_up(_: str, __: int) -> list[str]:
        return ["127.0.0.1", "127.0.0.2"]

    async with HttpCaller(opened, lookup=look_up) as caller:
        made = schedule(target_url=f"http://many.example:{port}/", timeout_seconds=10.0)
        reply = await caller.prepare(claim(tenant_id=uuid4()), made).send()
        assert reply.error == f"could not connect to many.example:{port}: connection refused"
        told = await caller.prepare(claim(tenant_id=OPERATOR), made).send()
        assert "127.0.0.1" in (told.error or "")


def test_a_create_says_no_more_than_a_call() -> None:
    theirs = POLICY.of_tenant(uuid4())
    for host in ("127.0.0.1", "[::1]", "localhost", "denied.example", "203.0.113.9", "10.0.0.1"):
        assert theirs.wrong_with_url(f"http://{host}/") == HIDDEN
    assert theirs.wrong_with_url("https://public.example/") is None
    assert POLICY.of_tenant(OPERATOR).wrong_with_url("http://127.0.0.1/") is None
