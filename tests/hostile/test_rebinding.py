"""S2: names that point elsewhere when they are called than when they were checked."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.deadlines import patience
from tests.hostile.calling import STRICT, alias, call, call_with, canary
from tests.hostile.raw import OK, answering, serving
from tests.unit.workers.made import TENANT_ID

from rota.targets import OPEN, TargetPolicy, TargetRefused
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.http.connection import Connection
from rota.workers.delivery.http.dial import Dialler, Place, check_peer
from rota.workers.delivery.http.origin import origin
from rota.workers.delivery.http.resolver import Resolver, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLIC = "93.184.216.34"


class Resolving:
    """Gives one answer after the other, the last for ever; None is NXDOMAIN."""

    def __init__(self, *answers: Sequence[str] | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return list(answer)


MIXED = [
    pytest.param(["127.0.0.1"], id="private"),
    pytest.param([PUBLIC, "::1"], id="A public, AAAA private"),
    pytest.param(["::1", PUBLIC], id="AAAA private, A public"),
    pytest.param([PUBLIC, "::ffff:127.0.0.1"], id="A public, AAAA mapped"),
    pytest.param([PUBLIC, "fe80::1%lo"], id="A public, AAAA with a zone"),
    pytest.param([f"93.184.216.{n}" for n in range(19)] + ["127.0.0.1"], id="the last of twenty"),
    pytest.param(["127.0.0.1"] + [f"93.184.216.{n}" for n in range(19)], id="the first of twenty"),
    pytest.param([], id="none at all"),
    pytest.param(["junk"], id="no address"),
]


@pytest.mark.parametrize("answer", MIXED)
async def test_one_private_address_spoils_the_host(answer: list[str]) -> None:
    with canary() as bird:
        reply = await call(f"http://mixed.example:{bird.port}/", STRICT, lookup=Resolving(answer))
        assert (reply.code, bird.connections) == (None, 0)
        assert reply.error


async def test_a_name_that_was_not_found_is_judged_when_it_is() -> None:
    """GitLab's hole: the check was skipped when the look-up before it had failed."""
    resolving = Resolving(None, None, ["127.0.0.1"])
    with canary() as bird:
        url = f"http://late.example:{bird.port}/"
        async with HttpCaller(STRICT, lookup=resolving) as caller:
            for _ in range(2):
                unknown = await call_with(caller, url)
                assert unknown.error == ("late.example was not found: name or service not known")
            refused = await call_with(caller, url)
        assert refused.error is not None
        assert refused.error.startswith("the address 127.0.0.1 of late.example is loopback;")
        assert bird.connections == 0


async def test_a_public_name_that_turns_private_is_refused() -> None:
    """Really called while it was public: on an address of that kind on the loopback interface."""
    address = f"93.184.{os.getpid() % 250}.{os.getpid() // 250 % 250 + 1}"
    resolving = Resolving([address], ["127.0.0.1"])
    with alias(address) as permitted, canary() as bird:
        if not permitted:
            pytest.skip("adding an address to the loopback interface is not permitted here")
        close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        with serving(answering(close), host=address) as server:
            url = f"http://rebind.example:{server.port}/"
            async with HttpCaller(STRICT, lookup=resolving) as caller:
                assert (await call_with(caller, url)).code == 200
                caller.client._resolver._kept.clear()
                refused = await call_with(caller, f"http://rebind.example:{bird.port}/")
        assert refused.error is not None
        assert "loopback" in refused.error
        assert bird.connections == 0


async def test_what_was_checked_is_what_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is looked up once; the connection is made to that address, and the name is said."""
    resolving = Resolving(["127.0.0.1"])

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a second look-up")

    with serving(answering(OK)) as server:
        monkeypatch.setattr(socket, "getaddrinfo", forbidden)
        reply = await call(f"http://pinned.example:{server.port}/", lookup=resolving)
    assert (reply.code, resolving.asked) == (200, 1)
    assert f"\r\nHost: pinned.example:{server.port}\r\n".encode() in server.requests[0]


async def test_a_checked_answer_is_kept_for_a_moment_and_asked_for_once_by_many() -> None:
    resolving = Resolving([PUBLIC])
    resolver = Resolver(STRICT, resolving)
    many = await asyncio.gather(
        *(resolver.addresses(TENANT_ID, "h.example", 443) for _ in range(9))
    )
    assert set(many) == {(PUBLIC,)}
    assert await resolver.addresses(uuid4(), "h.example", 443) == (PUBLIC,)
    assert resolving.asked == 1
    until, _ = resolver._kept[True, "h.example", 443]
    assert until - asyncio.get_running_loop().time() <= 2


async def test_a_refused_answer_is_not_kept() -> None:
    resolving = Resolving(["10.0.0.5"], [PUBLIC])
    resolver = Resolver(STRICT, resolving)
    with pytest.raises(TargetRefused) as refused:
        await resolver.addresses(TENANT_ID, "internal.example", 443)
    assert str(refused.value) == (
        "the address 10.0.0.5 of internal.example is private; "
        "ROTA_ALLOW_PRIVATE_TARGETS=1 or allow_targets lets targets be private"
    )
    assert await resolver.addresses(TENANT_ID, "internal.example", 443) == (PUBLIC,)


async def test_one_tenants_names_that_hang_do_not_hold_up_another() -> None:
    """S5: name servers are a stranger's too."""
    hanging = asyncio.Event()

    async def lookup(host: str, port: int) -> list[str]:
        if host.startswith("slow"):
            await hanging.wait()
        return [PUBLIC]

    resolver = Resolver(STRICT, lookup)
    slow = [
        asyncio.create_task(resolver.addresses(TENANT_ID, f"slow{n}.example", 443))
        for n in range(100)
    ]
    async with asyncio.timeout(patience(2)):
        assert await resolver.addresses(uuid4(), "fast.example", 443) == (PUBLIC,)
    hanging.set()
    await asyncio.gather(*slow)


async def test_the_peer_of_the_socket_is_looked_at_again() -> None:
    """Whatever stands between a check and a connection."""
    with serving(answering(OK)) as server:
        place = origin(server.url)
        loop = asyncio.get_running_loop()
        for policy, address, wrong in (
            (OPEN, "127.0.0.2", r"expected to be connected to 127\.0\.0\.2"),
            (TargetPolicy(), "127.0.0.1", "is loopback"),
        ):
            transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", place.port)
            with pytest.raises(TargetRefused, match=wrong):
                check_peer(policy, place.host, address, transport)
            transport.abort()
        assert server.requests == []


async def test_a_connection_to_another_peer_is_ended_before_anything_is_said() -> None:
    """A resolver that was made to allow what the policy does not: the socket is judged itself."""
    with serving(answering(OK)) as server:
        place = origin(server.url)
        dialler = Dialler(TargetPolicy(), Resolver(OPEN))
        made: list[Connection] = []

        def connection() -> Connection:
            made.append(Connection(asyncio.get_running_loop()))
            return made[-1]

        with pytest.raises(TargetRefused, match="is loopback"):
            await dialler.dial(TENANT_ID, Place(host=place.host, port=place.port), connection)
        await asyncio.sleep(0)  # noqa: TID251 - one turn, for the end of the connection to be heard
        assert [each.is_open for each in made] == [False]
        assert server.requests == []


async def test_the_systems_resolver_is_asked_in_a_thread() -> None:
    assert "127.0.0.1" in await look_up("localhost", 80)
    with pytest.raises(socket.gaierror):
        await look_up("nothing.invalid", 80)
