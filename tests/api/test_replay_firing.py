"""`POST /v1/firings/{id}/replay`."""

from __future__ import annotations

import pytest
from tests.api.conftest import Api, problem
from tests.api.outcomes import died, found, settled, triggered

from rota import ids


async def test_a_replay_is_a_new_firing_that_names_its_origin(api: Api) -> None:
    made = await api.created()
    dead = await died(api, made, {"only": "this"})
    answer = await api.post(f"/v1/firings/{dead['id']}/replay")
    assert answer.status_code == 202, answer.text
    again = answer.json()
    assert (again["replay_of"], again["status"]) == (dead["id"], "waiting")
    assert (again["triggered_by"], again["schedule_id"]) == ("api", made["id"])
    assert again["scheduled_for"] > dead["scheduled_for"]
    (claim,) = await settled(api, status="succeeded", code=200)
    assert claim.payload == '{"only": "this"}'
    assert claim.replay_of == ids.from_text(ids.Kind.FIRING, dead["id"])
    ended = await found(api, again["id"])
    assert (ended["status"], ended["replay_of"]) == ("succeeded", dead["id"])
    assert await found(api, dead["id"]) == dead


async def test_a_replay_of_a_replay_names_the_one_it_repeats(api: Api) -> None:
    made = await api.created()
    dead = await died(api, made, {"only": "this"})
    again = (await api.post(f"/v1/firings/{dead['id']}/replay")).json()
    await settled(api)
    third = (await api.post(f"/v1/firings/{again['id']}/replay")).json()
    assert third["replay_of"] == again["id"]
    (claim,) = await settled(api)
    assert claim.payload == '{"only": "this"}'


@pytest.mark.parametrize("status", ["succeeded", "cancelled", "skipped"])
async def test_whatever_has_ended_can_be_replayed(api: Api, status: str) -> None:
    made = await api.created()
    firing = await triggered(api, made)
    if status == "skipped":
        skipped = await triggered(api, made)
        await settled(api)
        firing = skipped
    elif status == "cancelled":
        await api.post(f"/v1/firings/{firing['id']}/cancel")
    else:
        await settled(api, status="succeeded")
    assert (await found(api, firing["id"]))["status"] == status
    answer = await api.post(f"/v1/firings/{firing['id']}/replay")
    assert answer.json()["replay_of"] == firing["id"]


async def test_the_overlap_policy_counts_it_like_a_manual_run(api: Api) -> None:
    for policy, status in (("skip", "skipped"), ("queue", "blocked"), ("allow", "waiting")):
        made = await api.created(name=policy, overlap_policy=policy)
        dead = await died(api, made)
        await triggered(api, made)
        again = (await api.post(f"/v1/firings/{dead['id']}/replay")).json()
        assert again["status"] == status
        shown = await found(api, again["id"])
        assert (shown["status"], shown["replay_of"]) == (status, dead["id"])


async def test_cancel_previous_ends_what_waits(api: Api) -> None:
    made = await api.created(overlap_policy="cancel_previous")
    dead = await died(api, made)
    waiting = await triggered(api, made)
    again = (await api.post(f"/v1/firings/{dead['id']}/replay")).json()
    assert again["status"] == "waiting"
    ended = await found(api, waiting["id"])
    assert (ended["status"], ended["reason"]) == ("cancelled", "overlap")


async def test_what_is_live_is_not_replayed(api: Api) -> None:
    firing = await triggered(api, await api.created())
    answer = await api.post(f"/v1/firings/{firing['id']}/replay")
    assert "got one that is waiting" in problem(answer, 409)["detail"]


async def test_what_has_no_schedule_any_more_is_not_replayed(api: Api) -> None:
    made = await api.created()
    dead = await died(api, made)
    await api.delete(f"/v1/schedules/{made['id']}")
    answer = await api.post(f"/v1/firings/{dead['id']}/replay")
    assert "schedule has been deleted" in problem(answer, 409)["detail"]


async def test_a_run_of_slots_is_not_one_firing(api: Api) -> None:
    made = await api.created()
    dead = await died(api, made)
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE firings SET status = 'missed', slot_count = 7")
    answer = await api.post(f"/v1/firings/{dead['id']}/replay")
    assert "7 slots" in problem(answer, 409)["detail"]
