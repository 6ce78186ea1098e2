"""Firings in every state, for tests of what may be done with them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rota import ids
from rota.queue.claim import claim
from rota.queue.complete import AttemptRecord, Settlement, settle
from rota.queue.external_claims import Tokens
from rota.tenants.secrets import Rings, Vault
from rota.tenants.secrets.ring import new_entry, parse

if TYPE_CHECKING:
    from uuid import UUID

    from tests.api.conftest import Api

    from rota.db import Database
    from rota.queue.claim import Claim

MINUTE = timedelta(minutes=1)


async def claimed(db: Database) -> tuple[UUID, list[Claim]]:
    """A worker that holds all there is."""
    me = uuid4()
    async with db.transaction() as tx:
        held = await claim(
            tx, ["http"], me, limit=20_000, lead=MINUTE, visibility=timedelta(minutes=5)
        )
    return me, held


async def triggered(api: Api, schedule: dict[str, Any], payload: Any = None) -> dict[str, Any]:
    body = None if payload is None else {"payload": payload}
    answer = await api.post(f"/v1/schedules/{schedule['id']}/trigger", body)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def settled(api: Api, **outcome: Any) -> list[Claim]:
    """Claim all there is, and record this outcome of it: dead unless said otherwise."""
    usual: dict[str, Any] = {"status": "dead", "reason": "HTTP 500, after 3 attempts", "code": 500}
    outcome = outcome or usual
    db = api.engine.db
    me, held = await claimed(db)
    name = {"succeeded": "succeeded", None: "accepted"}.get(outcome.get("status"), "failed")
    batch = [
        Settlement(
            claim=each,
            started_at=each.available_at,
            finished_at=each.available_at + timedelta(milliseconds=1),
            tried=AttemptRecord(outcome=name),
            **outcome,
        )
        for each in held
    ]
    async with db.transaction() as tx:
        assert len((await settle(tx, me, batch)).accepted) == len(batch)
    return held


async def died(api: Api, schedule: dict[str, Any], payload: Any = None) -> dict[str, Any]:
    """A firing of the schedule that has failed for good."""
    firing = await triggered(api, schedule, payload)
    await settled(api)
    return await found(api, firing["id"])


async def left(api: Api, schedule: dict[str, Any]) -> tuple[str, str]:
    """A firing that its target has taken on: its id, and the token."""
    firing = await triggered(api, schedule)
    db = api.engine.db
    async with db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
    await settled(api, detached_until=now + timedelta(hours=1), code=202)
    return firing["id"], await token(api, firing["id"])


async def token(api: Api, firing_id: str, attempt: int = 1) -> str:
    async with api.engine.db.transaction() as tx:
        key = await api.engine.vault.token_key(tx)
    return Tokens(key).token(ids.from_text(ids.Kind.FIRING, firing_id), attempt)


async def found(api: Api, firing_id: str) -> dict[str, Any]:
    answer = await api.get(f"/v1/firings/{firing_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def vault() -> Vault:
    """One with a ring of its own."""
    return Vault(Rings.fixed(parse(new_entry("k1"), where="the test")))
