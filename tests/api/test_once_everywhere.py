"""Idempotency-Key on every POST there is: the same answer twice, one effect (AP)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, LiteralString

import pytest
from tests.api.conftest import Api, made_of, problem
from tests.api.outcomes import died, left, triggered, vault

from rota.api import operations

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

TASK = {"target_url": None, "job_type": "resize", "overlap_policy": "allow"}

# Everything that a second carrying out would show in. Numbers that only grow, so that a twin that
# undoes itself cannot hide.
_EFFECTS: LiteralString = """
    SELECT (SELECT count(*) FROM schedules), (SELECT sum(version) FROM schedules),
           (SELECT count(*) FROM queue), (SELECT coalesce(sum(attempt), 0) FROM queue),
           (SELECT string_agg(concat(state, cancel_reason, claimed_until),
                              ',' ORDER BY id) FROM queue),
           (SELECT count(*) FROM firings), (SELECT count(*) FROM attempts),
           (SELECT count(*) FROM tenants), (SELECT count(*) FROM api_keys),
           (SELECT count(*) FROM signing_secrets)
"""


@dataclass(frozen=True)
class Request:
    """A request to be made twice, and once more with another body."""

    path: str
    body: Any = None
    other: Any = None
    """Another body of the same operation; None to try another key's path instead."""


async def _schedule(api: Api, **fields: Any) -> str:
    return (await api.created(**{**TASK, **fields}))["id"]


async def _on_schedule(api: Api, verb: str, body: Any = None, other: Any = None) -> Request:
    return Request(f"/v1/schedules/{await _schedule(api)}/{verb}", body, other)


async def _create(_: Api) -> Request:
    return Request("/v1/schedules", made_of(), made_of(name="other"))


async def _bulk(_: Api) -> Request:
    item = {"items": [made_of()]}
    return Request("/v1/schedules/bulk", item, {"items": [made_of(name="other")]})


async def _pause_all(api: Api) -> Request:
    await _schedule(api)
    return Request("/v1/pause", {"reason": "tea"}, {"reason": "coffee"})


async def _resume_all(api: Api) -> Request:
    await _schedule(api)
    await api.post("/v1/pause")
    return Request("/v1/resume", {}, {"tag": "x"})


async def _backfill(api: Api) -> Request:
    made = await _schedule(api, cron_expr="0 9 * * *")
    body = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"}
    return Request(f"/v1/schedules/{made}/backfill", body, body | {"to": "2026-01-04T00:00:00Z"})


async def _preview(_: Api) -> Request:
    return Request("/v1/preview", {"interval": "7s"}, {"interval": "8s"})


async def _replay_dead(api: Api) -> Request:
    await died(api, await api.created())
    return Request("/v1/dead/replay", {"limit": 5}, {"limit": 6})


async def _replay(api: Api) -> Request:
    firing = await died(api, await api.created())
    return Request(f"/v1/firings/{firing['id']}/replay", None, {})


async def _cancel(api: Api) -> Request:
    firing = await triggered(api, await api.created())
    return Request(f"/v1/firings/{firing['id']}/cancel", {"reason": "tea"}, {"reason": "coffee"})


async def _claim(api: Api) -> Request:
    made = await api.created(**TASK)
    for _ in range(3):
        await triggered(api, made)
    return Request("/v1/queues/default/claim", {"limit": 1}, {"limit": 2})


async def _work(api: Api, verb: str, other: dict[str, Any]) -> Request:
    firing_id, token = await left(api, await api.created())
    return Request(f"/v1/firings/{firing_id}/{verb}", {"token": token}, {"token": token, **other})


async def _tenant(_: Api) -> Request:
    return Request("/v1/tenants", {"name": "acme"}, {"name": "other"})


async def _key(_: Api) -> Request:
    return Request("/v1/keys", {"scopes": ["read"]}, {"scopes": ["write"]})


async def _sign_in_link(_: Api) -> Request:
    return Request("/v1/sign-in-links", None, {})


async def _rotate(_: Api) -> Request:
    body = {"overlap": "1h", "host": "example.com"}
    return Request("/v1/signing-secret/rotate", body, {"overlap": "2h"})


MADE: dict[str, Callable[[Api], Awaitable[Request]]] = {
    "create_schedule": _create,
    "create_schedules": _bulk,
    "pause_schedule": lambda api: _on_schedule(api, "pause", None, {}),
    "resume_schedule": lambda api: _on_schedule(api, "resume", None, {}),
    "trigger_schedule": lambda api: _on_schedule(api, "trigger", {"payload": 1}, {"payload": 2}),
    "pause_all": _pause_all,
    "resume_all": _resume_all,
    "backfill_schedule": _backfill,
    "preview_slots": _preview,
    "replay_dead": _replay_dead,
    "replay_firing": _replay,
    "cancel_firing": _cancel,
    "claim_firings": _claim,
    "complete_firing": lambda api: _work(api, "complete", {"result": 1}),
    "fail_firing": lambda api: _work(api, "fail", {"error": "x"}),
    "extend_firing": lambda api: _work(api, "extend", {"seconds": 5}),
    "create_tenant": _tenant,
    "create_key": _key,
    "rotate_signing_secret": _rotate,
    "create_sign_in_link": _sign_in_link,
}
ELSEWHERE = {"create_channel", "test_channel", "ping_schedule", "post_ping"}
"""Those whose own tests show it, or that do no harm when repeated."""


def test_every_post_is_tried_here() -> None:
    posts = {each.name for each in operations.ALL if each.method == "post"}
    assert posts - ELSEWHERE == MADE.keys()


@pytest.fixture(autouse=True)
def with_a_ring(api: Api) -> None:
    # The engine is made for every test anew.
    object.__setattr__(api.engine, "vault", vault())


async def _effects(api: Api) -> Any:
    async with api.engine.db.transaction() as tx:
        return tuple(await tx.fetch_row(_EFFECTS) or ())


async def _send(api: Api, path: str, body: Any) -> httpx.Response:
    keyed = replace(api, headers={**api.headers, "Idempotency-Key": "the same"})
    return await keyed.post(path, body)


@pytest.mark.parametrize("name", MADE)
async def test_the_same_key_is_the_same_answer_and_one_effect(api: Api, name: str) -> None:
    wish = await MADE[name](api)
    # Twins at once, then one more when it is over.
    twins = await asyncio.gather(*(_send(api, wish.path, wish.body) for _ in range(3)))
    assert all(each.is_success for each in twins), [each.text for each in twins]
    after = await _effects(api)
    again = await _send(api, wish.path, wish.body)
    assert {each.content for each in (*twins, again)} == {again.content}
    assert {each.status_code for each in (*twins, again)} == {again.status_code}
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers.get("etag") == twins[0].headers.get("etag")
    assert await _effects(api) == after
    problem(await _send(api, wish.path, wish.other), 422)
    assert await _effects(api) == after


@pytest.mark.parametrize(
    "name", ["create_key", "create_sign_in_link", "rotate_signing_secret", "claim_firings"]
)
async def test_answers_with_secrets_are_kept_so_that_nobody_can_read_them(
    api: Api, name: str
) -> None:
    """S9, S7: what a dump has of them is sealed; another key of the tenant gets nothing."""
    wish = await MADE[name](api)
    answer = await _send(api, wish.path, wish.body)
    other = (await api.post("/v1/keys", {"scopes": ["admin"]})).json()["key"]
    async with api.engine.db.transaction() as tx:
        kept = await tx.fetch_value("SELECT content FROM answers WHERE key = 'the same'")
    assert answer.content not in kept
    assert b"rota_" not in kept
    assert b"whsec_" not in kept
    assert b"token" not in kept
    stranger = replace(api, headers={"Authorization": f"Bearer {other}"})
    problem(await _send(stranger, wish.path, wish.body), 422)


async def test_a_claim_that_found_nothing_is_asked_again(api: Api) -> None:
    made = await api.created(**TASK)
    first = await _send(api, "/v1/queues/default/claim", {})
    assert first.json() == {"items": []}
    await triggered(api, made)
    again = await _send(api, "/v1/queues/default/claim", {})
    assert len(again.json()["items"]) == 1
    assert "idempotency-replayed" not in again.headers
