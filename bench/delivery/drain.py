"""A queue full of firings, and a worker that empties it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, LiteralString
from uuid import uuid4

from rota.clock import SystemClock
from rota.db import Listener
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.queue.external_claims import Tokens
from rota.schedules.definition import HTTP_LANE
from rota.targets import TargetPolicy
from rota.tenants.secrets import Rings, Vault
from rota.tenants.secrets.ring import new_entry, parse
from rota.workers.channels import CHANNELS
from rota.workers.delivery.callback import Callback
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.request_signing import RequestSigner
from rota.workers.events import FiringFinished
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from bench.core.stand import Stand
    from rota.workers.settings import WorkerSettings

_CLOCK = SystemClock()
RING = parse(new_entry("bench"), where="the benchmark")

_AIM: LiteralString = """
    UPDATE schedules
       SET definition = definition || jsonb_build_object(
               'target_url', 'http://127.0.0.1:' || $1::integer || '/hook',
               'payload', jsonb_build_object('team', 'ops'))
"""

_FILL: LiteralString = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, fence,
                       state, triggered_by, lane, host)
    SELECT gen_random_uuid(), s.schedule_id, $2::uuid, 1, n.at, n.at, 1, 'waiting', 'schedule',
           'http', '127.0.0.1:' || $3::integer
      FROM (SELECT i, $4::timestamptz - interval '1 minute' + i * interval '1 microsecond' AS at
              FROM generate_series(1, $1::integer) AS i) AS n
      JOIN sample s ON s.n = 1 + n.i % (SELECT count(*) FROM sample)
"""


async def aim(stand: Stand, port: int) -> None:
    """Let every schedule call the target."""
    await stand.admin.execute(_AIM, port)


async def fill(stand: Stand, port: int, count: int) -> None:
    """So many firings wait, and nothing else is there."""
    await stand.empty_queue()
    await stand.admin.execute(_FILL, count, stand.tenant_id, port, await stand.now())


async def _as_served(stand: Stand, policy: TargetPolicy) -> HttpCaller:
    """With all that a server adds to a request: the signature, and the token of the attempt."""
    vault = Vault(Rings.fixed(RING))
    key = await stand.db.run(vault.token_key)
    moment = RequestSigner(stand.db, vault, time=DatabaseClock(_CLOCK))
    return HttpCaller(policy, signer=moment, callback=Callback(Tokens(key)))


async def drain(stand: Stand, count: int, *, settings: WorkerSettings | None = None) -> float:
    """The seconds that one worker takes until all are recorded as succeeded."""
    bus = Bus()
    left = count
    done = asyncio.Event()

    def hear(event: FiringFinished) -> None:
        nonlocal left
        assert event.status == "succeeded", event
        left -= 1
        if left == 0:
            done.set()

    bus.subscribe(FiringFinished, hear)
    policy = TargetPolicy(allow_private=True)
    caller = await _as_served(stand, policy)
    async with Listener(stand.db.dsn, [*CHANNELS]) as news, caller as http:
        start = _CLOCK.monotonic()
        worker = Worker(
            stand.db,
            id_=uuid4(),
            callers={HTTP_LANE: http},
            listener=news,
            bus=bus,
            settings=settings,
        )
        async with worker, asyncio.timeout(600):
            await done.wait()
            seconds = _CLOCK.monotonic() - start
    assert await stand.queued() == 0
    return seconds
