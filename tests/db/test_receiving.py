"""The whole way: a worker that signs, and a target behind `rota.receiver` on a real server."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from standardwebhooks import Webhook
from tests.db.queue_support import attempt_rows, fire, firing_rows, make_schedule
from tests.db.test_worker import QUICK
from tests.unit.receiver import servers
from tests.unit.receiver.servers import Target

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.events import Bus, Recorder
from rota.receiver import Receiver, answers
from rota.targets import OPEN
from rota.tenants.secrets import Rings, Vault
from rota.tenants.secrets.ring import new_entry, parse
from rota.tenants.signing import SigningSecrets
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.request_signing import RequestSigner
from rota.workers.events import FiringFinished, FiringRetried
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from rota.db import Database


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def vault() -> Vault:
    return Vault(Rings.fixed(parse(new_entry("k1"), where="test")))


@asynccontextmanager
async def working(db: Database, vault: Vault, worker_id: Any) -> AsyncGenerator[Recorder]:
    bus = Bus()
    recorder = Recorder(bus)
    signer = RequestSigner(db, vault, time=DatabaseClock(SystemClock()))
    async with (
        HttpCaller(OPEN, signer=signer) as http,
        Worker(db, id_=worker_id, callers={"http": http}, settings=QUICK, bus=bus),
    ):
        yield recorder


async def receiver_of(db: Database, vault: Vault, tenant: Any) -> Callable[[int], Receiver]:
    """A receiver with the key of its own port of the loopback address."""
    async with db.transaction() as tx:
        (secret,) = await SigningSecrets(vault).of(tx, tenant)
    return lambda port: Receiver(secrets=[secret.text_for(f"127.0.0.1:{port}")])


@pytest.mark.parametrize("serve", [servers.asgi, servers.wsgi])
async def test_what_rota_signs_the_receiver_believes(
    db: Database, target: Target, vault: Vault, serve: Any
) -> None:
    """S13, from the vault to the application."""
    owner = await make_schedule(db)
    receiver = await receiver_of(db, vault, owner.tenant_id)
    with serve(receiver, target) as client:
        schedule = await make_schedule(
            db,
            tenant_id=owner.tenant_id,
            target_url=f"http://127.0.0.1:{client.port}/hook",
            payload={"é": [1, None]},
        )
        async with working(db, vault, schedule.id) as recorder:
            await fire(db, schedule)
            assert (await recorder.wait_for(FiringFinished)).code == 200
    assert [json.loads(body) for body in target.bodies] == [{"é": [1, None]}]


async def test_an_answer_that_came_too_late_is_not_asked_for_twice(
    db: Database, target: Target, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DS1, DS8: at least once for Rota, once for the application.

    The first attempt times out while its handler goes on; the next is put off, for as long as the
    handler takes; the one after that hears of success. 409 with Retry-After is tried again, though
    other 4xx are final.
    """
    monkeypatch.setattr(answers, "RETRY_AFTER", 1)
    owner = await make_schedule(db)
    receiver = await receiver_of(db, vault, owner.tenant_id)
    target.may_go.clear()
    with servers.asgi(receiver, target) as client:
        schedule = await make_schedule(
            db,
            tenant_id=owner.tenant_id,
            target_url=f"http://127.0.0.1:{client.port}/hook",
            timeout_seconds=1,
            backoff="fixed",
            backoff_delay=timedelta(milliseconds=10),
            max_attempts=5,
        )
        async with working(db, vault, schedule.id) as recorder:
            id_ = await fire(db, schedule)
            await recorder.wait_for(
                FiringRetried, where=lambda _: len(recorder.all(FiringRetried)) == 2
            )
            # Two have failed: one without an answer, one that was put off.
            target.may_go.set()
            finished = await recorder.wait_for(FiringFinished)
    assert finished.status == "succeeded"
    assert len(target.bodies) == 1
    tried = await attempt_rows(db)
    assert [row["response_status"] for row in tried[:2]] == [None, 409]
    assert tried[-1]["response_status"] == 200
    assert "rota-duplicate" in tried[-1]["response_headers"].lower()
    assert (await firing_rows(db))[id_]["attempt"] == len(tried)


class AnHourOff(SystemClock):
    """The wall clock of a node that nobody has set right; its monotonic clock is fine."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return super().now() + self._by


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_worker_whose_clock_is_an_hour_off_signs_by_the_databases_time(
    db: Database, target: Target, vault: Vault, hours: int
) -> None:
    """And with the keys that sign now: the one before has retired, whatever the node believes."""
    clock = AnHourOff(timedelta(hours=hours))
    time = DatabaseClock(clock)
    owner = await make_schedule(db)
    signing = SigningSecrets(vault)
    async with db.transaction() as tx:
        await signing.of(tx, owner.tenant_id)
        new, old = await signing.rotate(tx, owner.tenant_id, overlap=timedelta(minutes=30))
    kept: list[tuple[dict[str, str], bytes]] = []

    async def keep(request: web.Request) -> web.Response:
        kept.append((dict(request.headers), await request.read()))
        return web.Response()

    async with serving_app(keep) as port:
        schedule = await make_schedule(
            db,
            tenant_id=owner.tenant_id,
            target_url=f"http://127.0.0.1:{port}/hook",
            payload={"a": 1},
        )
        bus = Bus()
        recorder = Recorder(bus)
        signer = RequestSigner(db, vault, time=time)
        async with (
            HttpCaller(OPEN, signer=signer) as http,
            Worker(
                db,
                id_=schedule.id,
                callers={"http": http},
                settings=QUICK,
                bus=bus,
                clock=clock,
                time=time,
            ),
        ):
            await fire(db, schedule)
            assert (await recorder.wait_for(FiringFinished)).code == 200
    ((headers, body),) = kept
    for secret in (new, old):
        Webhook(secret.text_for(f"127.0.0.1:{port}")).verify(body, headers)


@asynccontextmanager
async def serving_app(handler: Any) -> AsyncGenerator[int]:
    """A target that keeps what it gets; its port."""
    app = web.Application()
    app.router.add_post("/{rest:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
