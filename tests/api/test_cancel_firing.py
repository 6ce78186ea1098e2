"""`POST /v1/firings/{id}/cancel`."""

from __future__ import annotations

import pytest
from tests.api.conftest import Api, fields_of, problem
from tests.api.outcomes import claimed, died, found, left, triggered, vault

from rota import ids


async def test_what_waits_is_ended_at_once(api: Api) -> None:
    firing = await triggered(api, await api.created())
    answer = await api.post(f"/v1/firings/{firing['id']}/cancel", {"reason": "not today"})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["reason"]) == ("cancelled", "not today")
    assert await found(api, firing["id"]) == answer.json()


async def test_who_holds_it_is_asked(api: Api) -> None:
    firing = await triggered(api, await api.created())
    _, (held,) = await claimed(api.engine.db)
    answer = await api.post(f"/v1/firings/{firing['id']}/cancel")
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "running"
    assert answer.json()["reason"] == "cancelled by request"
    async with api.engine.db.transaction() as tx:
        asked = await tx.fetch_value("SELECT cancel_reason FROM queue WHERE id = $1", held.id)
    assert asked == "cancelled by request"
    assert (await api.post(f"/v1/firings/{firing['id']}/cancel")).status_code == 202


async def test_it_outdoes_a_recall(api: Api) -> None:
    """A recall would let an attempt that has begun go on."""
    firing = await triggered(api, await api.created())
    await claimed(api.engine.db)
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE queue SET cancel_reason = 'deleted'")
    answer = await api.post(f"/v1/firings/{firing['id']}/cancel", {"reason": "stop it"})
    assert answer.json()["reason"] == "stop it"


async def test_what_is_left_to_its_target_is_ended_at_once(api: Api) -> None:
    object.__setattr__(api.engine, "vault", vault())
    firing_id, token = await left(api, await api.created())
    assert (await found(api, firing_id))["detached_until"] is not None
    answer = await api.post(f"/v1/firings/{firing_id}/cancel", {"reason": "enough"})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    attempts = (await api.get(f"/v1/firings/{firing_id}/attempts")).json()["items"]
    assert [each["outcome"] for each in attempts] == ["cancelled"]
    late = await api.http.post(f"/v1/firings/{firing_id}/complete", json={"token": token})
    assert "it is cancelled: enough" in problem(late, 409)["detail"]


async def test_what_has_ended_stays_as_it_is(api: Api) -> None:
    dead = await died(api, await api.created())
    answer = await api.post(f"/v1/firings/{dead['id']}/cancel")
    assert "got one that is dead" in problem(answer, 409)["detail"]
    assert await found(api, dead["id"]) == dead


@pytest.mark.parametrize("reason", ["", " ", "x" * 201, "a\nb", "paused", "overlap", "deleted"])
async def test_a_reason_is_one_line_of_ones_own(api: Api, reason: str) -> None:
    firing = await triggered(api, await api.created())
    answer = await api.post(f"/v1/firings/{firing['id']}/cancel", {"reason": reason})
    problem(answer, 422)
    assert fields_of(answer) == ["reason"]
    assert (await found(api, firing["id"]))["status"] == "waiting"


async def test_nobodys_is_not_found(api: Api) -> None:
    firing = ids.to_text(ids.Kind.FIRING, ids.new(at=api.engine.clock.now()))
    problem(await api.post(f"/v1/firings/{firing}/cancel"), 404)
