"""Requests as they arrive: filled in, signed, and scrubbed on the way back (S4, S8, S13)."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from tests.db.secrets_kit import put, tenant, vault
from tests.deadlines import patience
from tests.unit.workers import made

from rota.clock import ManualClock, SystemClock
from rota.db import Cause, Database, Listener, Notice
from rota.db.server_clock import DatabaseClock
from rota.errors import OperatorError
from rota.receiver import verify_call
from rota.targets import OPEN, signing_host
from rota.tenants import sql as tenants_sql
from rota.tenants.secrets import Masked, Rings, Vault
from rota.tenants.signing import SigningSecrets
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.request import request_of
from rota.workers.delivery.request_signing import RequestSigner

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Tx
    from rota.workers.caller import Reply

CANARY = "CANARY/9a+b=c"


@dataclass
class Sink:
    """A socket that keeps every byte, and answers with all of them."""

    url: str = ""
    connections: int = 0
    received: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if b"content-length" in line
            ),
            0,
        )
        self.received = head + await reader.readexactly(length)
        echoed = self.received
        first = self.received.split(b"\r\n")[0]
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nX-Echo: %s\r\nContent-Length: %d\r\n\r\n%s"
            % (first, len(echoed), echoed)
        )
        await writer.drain()
        writer.close()

    @property
    def headers(self) -> dict[str, str]:
        lines = self.received.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
        pairs = (line.decode("ascii").partition(": ") for line in lines)
        return {name.lower(): value for name, _, value in pairs}

    @property
    def body(self) -> bytes:
        return self.received.partition(b"\r\n\r\n")[2]


@asynccontextmanager
async def listening() -> AsyncGenerator[Sink]:
    sink = Sink()
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0)
    sink.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield sink


@pytest.fixture
async def sink() -> AsyncGenerator[Sink]:
    async with listening() as each:
        yield each


@pytest.fixture
async def owner(db: Database) -> UUID:
    return await tenant(db)


async def call(
    db: Database,
    owner: UUID,
    url: str,
    *,
    keeper: Vault | None = None,
    clock: Clock | None = None,
    signer: RequestSigner | None = None,
    **fields: Any,
) -> tuple[Reply, str]:
    """One attempt: its reply, and what is remembered of the request."""
    finish = signer or RequestSigner(
        db, keeper or vault(), time=DatabaseClock(clock or SystemClock())
    )
    async with HttpCaller(OPEN, signer=finish) as http:
        prepared = http.prepare(
            made.claim(tenant_id=owner), made.schedule(target_url=url, **fields)
        )
        return await prepared.send(), prepared.shown


async def test_secrets_arrive_and_come_back_as_nothing(
    db: Database, owner: UUID, sink: Sink
) -> None:
    """SC1, S8: in path, query, header and payload; echoed in a header and the body."""
    await put(db, vault(), owner, A=CANARY)
    reply, shown = await call(
        db,
        owner,
        sink.url + "/x/${secrets.A}?k=${secrets.A}",
        headers={"Authorization": "Bearer ${secrets.A}"},
        payload={"deep": ["${secrets.A}"]},
    )
    assert b"POST /x/CANARY/9a+b=c?k=CANARY%2F9a%2Bb%3Dc HTTP/1.1" in sink.received
    assert sink.headers["authorization"] == f"Bearer {CANARY}"
    assert json.loads(sink.body) == {"deep": [CANARY]}
    assert reply.code == 200
    assert reply.error is None
    seen = repr(reply) + reply.body.decode() + shown
    assert "CANARY" not in seen
    assert "rota-firing-id" in seen.lower()
    assert "${secrets.A}" in shown
    for name in ("webhook-signature", "rota-signature"):
        assert sink.headers[name].split(",")[1] not in seen


@pytest.mark.parametrize(
    "value", ["a\r\nX-I: 1", "\n", "\0", "Ċ", "a\r\n\r\nGET /second HTTP/1.1\r\n\r\n", "x" * 8_192]
)
async def test_no_secret_can_inject_a_header(
    db: Database, owner: UUID, sink: Sink, value: str
) -> None:
    """S4: the socket sees no connection at all; the failure is final and says no value."""
    await put(db, vault(), owner, A=value)
    reply, _ = await call(db, owner, sink.url, headers={"X-Key": "${secrets.A}"})
    assert reply.permanent
    assert reply.error is not None
    assert "once" in reply.error
    assert "X-I" not in reply.error
    assert "xxxx" not in reply.error
    assert sink.connections == 0


@pytest.mark.parametrize("value", ["a\r\nX-I: 1", "\n", "\0", "Ċ", "a b\r\n\r\nGET / HTTP/1.1"])
async def test_in_urls_and_bodies_a_secret_is_data(
    db: Database, owner: UUID, sink: Sink, value: str
) -> None:
    """S4: one request, with the lines it always has."""
    await put(db, vault(), owner, A=value)
    url = sink.url + "/${secrets.A}?q=${secrets.A}"
    reply, _ = await call(db, owner, url, body="<${secrets.A}>")
    assert reply.code == 200
    assert sink.connections == 1
    head = sink.received.partition(b"\r\n\r\n")[0]
    assert b"\r\nx-i:" not in head.lower()
    assert head.count(b"\n") == head.count(b"\r") == len(head.split(b"\r\n")) - 1
    assert sink.body == f"<{value}>".encode()


async def test_an_unknown_secret_is_final_and_named(db: Database, owner: UUID, sink: Sink) -> None:
    reply, _ = await call(db, owner, sink.url, payload="${secrets.NOPE}")
    assert reply.permanent
    assert (reply.error or "").startswith("unknown secret NOPE")
    assert sink.connections == 0


async def test_another_tenants_secret_is_unknown(db: Database, owner: UUID, sink: Sink) -> None:
    """S10."""
    await put(db, vault(), await tenant(db), A=CANARY)
    reply, _ = await call(db, owner, sink.url, payload="${secrets.A}")
    assert "unknown secret A" in (reply.error or "")


async def test_without_a_ring_nothing_is_signed_and_secrets_say_what_to_set(
    db: Database, owner: UUID, sink: Sink
) -> None:
    off = Vault(Rings(None))
    reply, _ = await call(db, owner, sink.url, keeper=off)
    assert reply.code == 200
    assert "webhook-signature" not in sink.headers
    reply, _ = await call(db, owner, sink.url, keeper=off, payload="${secrets.A}")
    assert "ROTA_SECRET_KEYS" in (reply.error or "")
    # The operator can mend it: another attempt may do better.
    assert not reply.permanent
    assert sink.connections == 1


@pytest.mark.parametrize("payload", [{"a": "é☃"}, {}, "${secrets.A}", None])
async def test_the_specifications_library_verifies_what_arrives(
    db: Database, owner: UUID, sink: Sink, payload: Any
) -> None:
    """S13: on the raw bytes of the socket, with the secret that the tenant is shown."""
    await put(db, vault(), owner, A=CANARY)
    async with db.transaction() as tx:
        (secret,) = await SigningSecrets(vault()).of(tx, owner)
    await call(db, owner, sink.url, payload=payload)
    assert sink.headers["webhook-id"] == sink.headers["rota-firing-id"]
    if payload is not None:
        key = secret.text_for(signing_host.of_url(sink.url))
        Webhook(key).verify(sink.body, sink.headers)
        verified = verify_call("POST", sink.headers, sink.body, [key], SystemClock().now())
        assert verified.id == sink.headers["rota-firing-id"]
        with pytest.raises(WebhookVerificationError):
            Webhook(key).verify(sink.body + b" ", sink.headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(secret.text_for("other.example")).verify(sink.body, sink.headers)
        with pytest.raises(WebhookVerificationError):
            Webhook("whsec_" + "A" * 32).verify(sink.body, sink.headers)


async def test_while_the_secrets_overlap_both_verify(db: Database, owner: UUID, sink: Sink) -> None:
    """S13: rotation is two signatures, the newest first; afterwards one."""
    signing = SigningSecrets(vault())
    async with db.transaction() as tx:
        (old,) = await signing.of(tx, owner)
        new, _ = await signing.rotate(tx, owner, overlap=timedelta(hours=1))
    await call(db, owner, sink.url, payload={})
    assert len(sink.headers["webhook-signature"].split()) == 2
    host = signing_host.of_url(sink.url)
    for secret in (old, new):
        Webhook(secret.text_for(host)).verify(sink.body, sink.headers)
        keys = [secret.text_for(host)]
        verify_call("POST", sink.headers, sink.body, keys, SystemClock().now())
    async with db.transaction() as tx:
        await signing.rotate(tx, owner, overlap=timedelta())
    await call(db, owner, sink.url, payload={})
    assert len(sink.headers["webhook-signature"].split()) == 1
    with pytest.raises(WebhookVerificationError):
        Webhook(new.text_for(host)).verify(sink.body, sink.headers)


async def test_a_secret_from_before_signs_every_host_alike_until_it_is_rotated(
    db: Database, owner: UUID, sink: Sink
) -> None:
    """Receivers that were given the tenant's one secret go on, and have the overlap to change."""
    signing = SigningSecrets(vault())
    async with db.transaction() as tx:
        await signing.of(tx, owner)
        await tx.execute("UPDATE signing_secrets SET shared = true WHERE tenant_id = $1", owner)
        (before,) = await signing.of(tx, owner)
    assert before.shared
    await call(db, owner, sink.url, payload={})
    Webhook(before.text_for("anything.example")).verify(sink.body, sink.headers)
    async with db.transaction() as tx:
        new, old = await signing.rotate(tx, owner)
    assert (new.shared, old.shared) == (False, True)
    await call(db, owner, sink.url, payload={})
    Webhook(before.text_for("anything.example")).verify(sink.body, sink.headers)
    Webhook(new.text_for(signing_host.of_url(sink.url))).verify(sink.body, sink.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new.text_for("anything.example")).verify(sink.body, sink.headers)


async def test_a_retired_secret_stops_signing_on_time_without_being_read_again(
    db: Database, owner: UUID, sink: Sink
) -> None:
    async with db.transaction() as tx:
        await SigningSecrets(vault()).of(tx, owner)
        await SigningSecrets(vault()).rotate(tx, owner, overlap=timedelta(seconds=0.8))
        # It stands still from here on, however long the calls take.
        clock = ManualClock(await tx.fetch_value("SELECT clock_timestamp()"))
    finish = RequestSigner(db, vault(), time=DatabaseClock(clock))
    await call(db, owner, sink.url, signer=finish)
    assert len(sink.headers["webhook-signature"].split()) == 2
    await clock.advance(timedelta(seconds=0.9))
    await call(db, owner, sink.url, signer=finish)
    assert len(sink.headers["webhook-signature"].split()) == 1


async def test_a_changed_secret_is_used_within_a_second_by_who_did_not_hear_of_it(
    db: Database, dsn: str, owner: UUID, sink: Sink
) -> None:
    clock = ManualClock(datetime.now(UTC))  # noqa: TID251 - the database has the real one
    finish = RequestSigner(db, vault(), time=DatabaseClock(clock))
    await put(db, vault(), owner, A="old value")
    await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    async with await Database.open(dsn, pool_size=1) as other:
        await put(other, vault(), owner, A="new value")
    await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    assert sink.body == b'"old value"'
    await clock.advance(timedelta(seconds=1))
    await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    assert sink.body == b'"new value"'


async def test_a_changed_secret_is_used_as_soon_as_its_notice_arrives(
    db: Database, dsn: str, owner: UUID, sink: Sink
) -> None:
    frozen = ManualClock(datetime.now(UTC))  # noqa: TID251 - the database has the real one
    finish = RequestSigner(db, vault(), time=DatabaseClock(frozen))
    await put(db, vault(), owner, A="old value")
    await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    async with (
        Listener(dsn, [tenants_sql.CHANNEL]) as news,
        await Database.open(dsn, pool_size=1) as other,
    ):
        news.pass_on(tenants_sql.CHANNEL, db)
        told = news.subscribe(tenants_sql.CHANNEL)
        while (await told.wait(timedelta(minutes=1))).cause is not Cause.MISSED:
            pass  # not connected yet
        await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
        await put(other, vault(), owner, A="new value")
        while (
            Notice(tenants_sql.CHANNEL, str(owner))
            not in (await told.wait(timedelta(minutes=1))).notices
        ):
            pass
        await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    assert sink.body == b'"new value"'
    # In the process that makes the change, without waiting for any notice.
    await put(db, vault(), owner, A="newest value")
    await call(db, owner, sink.url, signer=finish, payload="${secrets.A}")
    assert sink.body == b'"newest value"'


async def test_a_herd_reads_its_secrets_once(db: Database, owner: UUID) -> None:
    await put(db, vault(), owner, A="v")
    reads = 0

    class Counting(Vault):
        async def values(
            self, tx: Tx, wanted: Sequence[tuple[UUID, str]]
        ) -> dict[tuple[UUID, str], Masked]:
            nonlocal reads
            reads += 1
            return await super().values(tx, wanted)

    finish = RequestSigner(db, Counting(vault()._rings), time=DatabaseClock(SystemClock()))
    caller = HttpCaller(OPEN, signer=finish)
    schedule = made.schedule(payload="${secrets.A}")
    claim = made.claim(tenant_id=owner)
    calls = [caller.prepare(claim, schedule) for _ in range(200)]
    ready = await asyncio.gather(*(each._completed(each.require_facts()) for each in calls))
    assert {each.filled.frame.body for each in ready} == {b'"v"'}
    assert reads == 1
    # Nothing is left to wait for: the next is made at once, of the same parts.
    again = calls[0]._sendable(calls[0].require_facts())
    assert again is not None
    assert again.filled is ready[-1].filled
    await caller.close()


async def test_one_secret_that_cannot_be_opened_fails_its_own_requests_alone(db: Database) -> None:
    """S7, S10: values of many tenants are read together; one tenant's broken one is its own."""
    keys = vault()
    whole, broken = await tenant(db), await tenant(db)
    await put(db, keys, whole, NAME="well")
    await put(db, keys, broken, NAME="ill")
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE secrets SET ciphertext = '\\x00'::bytea || substring(ciphertext from 2) "
            "WHERE tenant_id = $1",
            broken,
        )
    moment = RequestSigner(db, keys, time=DatabaseClock(SystemClock()))
    request = request_of(made.claim(), made.schedule(headers={"X-Key": "${secrets.NAME}"}))
    mine, theirs = await asyncio.gather(
        moment.complete(made.claim(tenant_id=whole), request),
        moment.complete(made.claim(tenant_id=broken), request),
        return_exceptions=True,
    )
    assert not isinstance(mine, BaseException)
    assert mine.request.headers["X-Key"] == "well"
    assert isinstance(theirs, OperatorError)


async def test_a_request_that_was_prepared_is_signed_for_its_instant(
    db: Database, owner: UUID, sink: Sink
) -> None:
    """And is sent so while nothing has changed; afterwards it is made anew."""
    keyring = vault()
    await put(db, keyring, owner, TOKEN="first")
    time = DatabaseClock(SystemClock())
    signer = RequestSigner(db, keyring, time=time)
    schedule = made.schedule(target_url=sink.url, headers={"X-Token": "${secrets.TOKEN}"})
    at = time.now() + timedelta(seconds=1)
    claim = made.claim(tenant_id=owner, available_at=at)
    async with HttpCaller(OPEN, signer=signer) as caller:
        call = caller.prepare_early(claim, schedule, 1.0)
        async with asyncio.timeout(patience(10)):
            while call._early is None:  # Its secrets are read meanwhile.
                await SystemClock().sleep(timedelta(milliseconds=10))
        assert b"first" in call._early.data
        assert "first" not in call.shown
        reply = await call.send()
        assert (reply.code, sink.headers["x-token"]) == (200, "first")
        assert b"first" not in reply.body
        assert sink.headers["webhook-timestamp"] == str(int(at.timestamp()))
        # The signing key was made at the first use of it, and the secret has changed.
        again = caller.prepare_early(claim, schedule, 1.0)
        assert again._early is not None
        await put(db, keyring, owner, TOKEN="second")
        await again.send()
        assert sink.headers["x-token"] == "second"


async def test_a_prepared_request_that_is_late_is_signed_anew(
    db: Database, owner: UUID, sink: Sink
) -> None:
    time = DatabaseClock(SystemClock())
    signer = RequestSigner(db, vault(), time=time)
    schedule = made.schedule(target_url=sink.url)
    old = time.now() - timedelta(minutes=10)
    async with HttpCaller(OPEN, signer=signer) as caller:
        claim = made.claim(tenant_id=owner, available_at=old)
        call = caller.prepare_early(claim, schedule, -600.0)
        before = int(time.now().timestamp())
        await call.send()
        assert before <= int(sink.headers["webhook-timestamp"]) <= time.now().timestamp()
