"""Stream targets that are not to be trusted, and secrets that are not to be seen."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import attempt_rows, fire, firing_rows, make_schedule
from tests.db.test_streams import streaming, working
from tests.deadlines import patience
from tests.hostile.certificates import sign, trusting
from tests.redis_server import RedisServer, redis_server
from tests.unit.workers import made

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.targets import OPEN, TargetPolicy
from rota.tenants.secrets import Masked, Rings, Vault
from rota.tenants.secrets.ring import new_entry, parse
from rota.workers.delivery.redis_streams import StreamCaller
from rota.workers.delivery.request_signing import RequestSigner
from rota.workers.events import FiringFinished

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from pathlib import Path

    from rota.db import Database
    from rota.workers.caller import Reply

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


PASSWORD = "CANARY-redis-password"
IN_PAYLOAD = 'CANARY-"payload"-\\-é'


@pytest.fixture
def locked(tmp_path: Path) -> Generator[RedisServer]:
    with redis_server(tmp_path, password=PASSWORD) as server:
        yield server


@asynccontextmanager
async def listening(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """A server that does as it is told; its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def send(stream: str, policy: TargetPolicy = OPEN, **settings: Any) -> Reply:
    timeout = settings.pop("timeout_seconds", 60)
    schedule = made.schedule(target_url=None, stream=stream, timeout_seconds=timeout)
    async with StreamCaller(policy, **settings) as streams:
        return await streams.prepare(made.claim(lane="stream"), schedule).send()


# Secrets


async def vault_with(db: Database, tenant: Any, **secrets: str) -> RequestSigner:
    vault = Vault(Rings.fixed(parse(new_entry("k1"), where="test")))
    async with db.transaction() as tx:
        for name, value in secrets.items():
            await vault.put(tx, tenant, name, Masked(value))
    return RequestSigner(db, vault, time=DatabaseClock(SystemClock()))


async def test_a_password_and_a_secret_in_the_payload_arrive_and_are_recorded_nowhere(
    db: Database, locked: RedisServer
) -> None:
    """SC1, SC2, S8."""
    place = f"127.0.0.1:{locked.port}/jobs"
    schedule = await streaming(
        db, f"redis://:${{secrets.PW}}@{place}", payload={"token": "${secrets.TOKEN}"}
    )
    signer = await vault_with(db, schedule.tenant_id, PW=PASSWORD, TOKEN=IN_PAYLOAD)
    async with working(db, signer=signer) as recorder:
        await fire(db, schedule, lane="stream")
        assert (await recorder.wait_for(FiringFinished)).status == "succeeded"
    (entry,) = locked.entries("jobs")
    assert json.loads(entry["payload"]) == {"token": IN_PAYLOAD}
    await nothing_recorded(db)
    (attempt,) = await attempt_rows(db)
    assert f"redis://:${{secrets.PW}}@{place}" in attempt["request"]


@pytest.mark.parametrize(
    ("secrets", "told"),
    [
        ({"PW": "CANARY-wrong"}, "invalid username-password pair or user is disabled"),
        ({}, "unknown secret PW"),
    ],
)
async def test_a_password_that_is_wrong_or_unknown_is_a_permanent_failure(
    db: Database, locked: RedisServer, secrets: dict[str, str], told: str
) -> None:
    schedule = await streaming(db, f"redis://:${{secrets.PW}}@127.0.0.1:{locked.port}/jobs")
    signer = await vault_with(db, schedule.tenant_id, **secrets)
    async with working(db, signer=signer) as recorder:
        id_ = await fire(db, schedule, lane="stream")
        await recorder.wait_for(FiringFinished)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"]) == ("dead", 1)
    assert told in row["reason"]
    await nothing_recorded(db)


async def test_another_tenants_secret_is_unknown(db: Database, locked: RedisServer) -> None:
    """SC3, S10."""
    other = await make_schedule(db)
    signer = await vault_with(db, other.tenant_id, PW=PASSWORD)
    schedule = await streaming(db, f"redis://:${{secrets.PW}}@127.0.0.1:{locked.port}/jobs")
    async with working(db, signer=signer) as recorder:
        id_ = await fire(db, schedule, lane="stream")
        await recorder.wait_for(FiringFinished)
    assert "unknown secret PW" in (await firing_rows(db))[id_]["reason"]


async def test_without_a_key_ring_a_password_is_never_sent_as_it_is_written() -> None:
    reply = await send("redis://:${secrets.PW}@127.0.0.1:1/jobs")
    assert reply.permanent
    assert "the secret PW" in (reply.error or "")


async def nothing_recorded(db: Database) -> None:
    rows = [*(await attempt_rows(db)), *(await firing_rows(db)).values()]
    assert rows
    assert "CANARY" not in str([dict(row.items()) for row in rows])


# TLS


def through(port: int) -> Talk:
    """Passes everything on to a Redis, as a TLS proxy does."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, back), copy(there, writer))

    return talk


@pytest.mark.parametrize(("name", "trusted"), [("r.example", True), ("other.example", False)])
async def test_tls_is_with_the_name_though_the_address_is_pinned(
    tmp_path: Path, name: str, trusted: bool
) -> None:
    """S2: the certificate must be the host's, whatever its address."""

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    authority = sign("authority", authority=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sign(name, authority).write(tmp_path / "shown.pem"))
    with redis_server(tmp_path) as server:
        async with listening(through(server.port), context) as port:
            reply = await send(
                f"rediss://r.example:{port}/jobs", lookup=lookup, tls=trusting(authority)
            )
        entries = server.entries("jobs")
    if trusted:
        assert [each["id"] for each in entries] == [reply.body.decode()]
    else:
        assert "certificate was not accepted" in (reply.error or "")
        assert entries == []


# Servers that mean ill (S5)


async def endless_string(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"$4000000000\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def endless_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"+x" * 32_768)
        await writer.drain()


async def deep_list(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"*1\r\n" * 10_000)
    await reader.read()


async def not_redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await reader.read()


async def strange_entry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(b"+<script>\r\n" * max(1, data.count(b"SETINFO")))


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


@pytest.mark.parametrize(
    ("talk", "told"),
    [
        (endless_string, "longer than 65536 bytes"),
        (endless_line, "longer than 65536 bytes"),
        (deep_list, ""),
        (not_redis, ""),
        (strange_entry, "expected the id of an entry"),
        (hang_up, ""),
    ],
)
async def test_a_server_that_means_ill_fails_its_own_firing_only(talk: Talk, told: str) -> None:
    async with asyncio.timeout(patience(10)), listening(talk) as port:
        reply = await send(f"redis://127.0.0.1:{port}/jobs")
    assert reply.error
    assert told in reply.error
    assert reply.body == b""


async def test_a_server_that_says_nothing_is_cut_off_at_the_deadline() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    async with listening(silent) as port:
        begun = loop.time()
        reply = await send(f"redis://127.0.0.1:{port}/jobs", timeout_seconds=0.5)
        assert loop.time() - begun < 1.5
    assert reply.timed_out


async def test_a_name_that_leads_to_a_private_address_gets_no_connection() -> None:
    """S2: whichever of its addresses it is."""
    seen = 0

    async def canary(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen += 1

    answers = iter([["93.184.215.14", "127.0.0.1"], ["::ffff:127.0.0.1"], ["10.0.0.1"]])

    async def lookup(host: str, port: int) -> list[str]:
        return next(answers)

    async with listening(canary) as port:
        for name in ("a", "b", "c"):
            reply = await send(f"redis://{name}.example:{port}/jobs", TargetPolicy(), lookup=lookup)
            assert "is " in (reply.error or "")
            assert not reply.timed_out
    assert seen == 0
