"""A receiver that turns against another receiver of the same tenant, with all that it was sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.secrets_kit import tenant, vault
from tests.unit.receiver import servers
from tests.unit.receiver.servers import Target
from tests.unit.workers import made

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.receiver import Receiver
from rota.targets import OPEN
from rota.tenants.signing import SigningSecrets
from rota.workers.delivery import signing
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.request_signing import RequestSigner

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from rota.db import Database
    from rota.workers.caller import Reply


class Relay(Target):
    """An evil receiver: it keeps every header that came with a call."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[dict[str, str], bytes]] = []

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        ours = ("rota-", "webhook-", "idempotency-")
        pairs = ((name.decode(), value.decode()) for name, value in scope["headers"])
        headers = {name: value for name, value in pairs if name.startswith(ours)}
        self.kept.append((headers, message["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def _receivers(db: Database, owner: UUID) -> Callable[[int], Receiver]:
    async with db.transaction() as tx:
        (secret,) = await SigningSecrets(vault()).of(tx, owner)
    return lambda port: Receiver(secrets=[secret.text_for(f"127.0.0.1:{port}")])


async def _call(db: Database, owner: UUID, port: int, **fields: Any) -> Reply:
    """As a worker does it."""
    signer = RequestSigner(db, vault(), time=DatabaseClock(SystemClock()))
    async with HttpCaller(OPEN, signer=signer) as http:
        schedule = made.schedule(target_url=f"http://127.0.0.1:{port}/hook", payload={"a": 1})
        return await http.prepare(made.claim(tenant_id=owner, **fields), schedule).send()


@pytest.mark.parametrize("serve", [servers.asgi, servers.wsgi])
async def test_a_call_relayed_to_another_receiver_is_refused_and_leaves_its_fence_alone(
    db: Database, serve: Any
) -> None:
    owner = await tenant(db)
    receivers, evil, good = await _receivers(db, owner), Relay(), Target()
    with servers.asgi(receivers, evil) as one, serve(receivers, good) as other:
        assert (await _call(db, owner, one.port, fence=9)).code == 200
        ((headers, body),) = evil.kept
        relayed = await asyncio.to_thread(other.post, body, headers)
        raised = {**headers, "rota-fence": "999999"}
        poisoned = await asyncio.to_thread(other.post, body, raised)
        assert (relayed.status, poisoned.status) == (401, 401)
        # The true call of the same firing, with a lower fence: neither a duplicate nor stale.
        assert (await _call(db, owner, other.port, fence=7)).code == 200
    assert len(good.bodies) == 1
    assert [call.fence for call in good.calls] == [7]


@pytest.mark.parametrize("serve", [servers.asgi, servers.wsgi])
async def test_a_receiver_cannot_sign_for_another_with_the_key_it_has(
    db: Database, serve: Any
) -> None:
    """It knows its own key, and may say what it likes: to itself."""
    owner = await tenant(db)
    receivers, good = await _receivers(db, owner), Target()
    async with db.transaction() as tx:
        (secret,) = await SigningSecrets(vault()).of(tx, owner)
    own = secret.key_for("evil.example")
    headers = {"Rota-Schedule-Id": "sch_1", "Rota-Fence": "999999"}
    headers |= signing.unsigned_headers("fir_1", SystemClock().now())
    headers |= signing.signed_headers([own], "POST", headers, b"{}")
    with serve(receivers, good) as other:
        answer = await asyncio.to_thread(other.post, b"{}", headers)
    assert answer.status == 401
    assert good.bodies == []


async def test_a_call_that_is_kept_and_sent_again_with_another_slot_is_refused(
    db: Database,
) -> None:
    """On its way to the right receiver: whoever can read it can repeat it, and change nothing."""
    owner = await tenant(db)
    receivers, relay, good = await _receivers(db, owner), Relay(), Target()
    with servers.asgi(receivers, relay) as own:
        assert (await _call(db, owner, own.port)).code == 200
        ((headers, body),) = relay.kept
        for name, value in (
            ("rota-scheduled-for", "2030-01-01T00:00:00Z"),
            ("rota-schedule-id", "sch_other"),
            ("rota-attempt", "2"),
            ("rota-catch-up", "true"),
            ("idempotency-key", "other"),
        ):
            changed = {**headers, name: value}
            assert (await asyncio.to_thread(own.post, body, changed)).status == 401
        again = await asyncio.to_thread(own.post, body, headers)
    assert again.headers["rota-duplicate"] == "true"
    assert good.bodies == []
