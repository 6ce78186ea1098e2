"""`POST /v1/dead/replay`: many at once (RT5)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.api.outcomes import died, found, settled, triggered
from tests.deadlines import patience

from rota import ids

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

_MANY = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, started_at, finished_at)
    SELECT x.id, s.id, s.tenant_id, s.version, x.at, 'dead', 'HTTP 500', 3, 'schedule', x.at, x.at
      FROM schedules s
     CROSS JOIN (SELECT gen_random_uuid() AS id, now() - n * interval '1 second' AS at
                   FROM generate_series(1, $2) AS n) AS x
     WHERE s.id = $1
"""

_WAITING = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def replayed(api: Api, **body: Any) -> dict[str, Any]:
    answer = await api.post("/v1/dead/replay", body)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def test_all_that_is_dead_runs_again_once_the_oldest_first(api: Api) -> None:
    """A replay is a new firing that names its origin; nothing is replayed twice by a filter."""
    made = await api.created()
    dead = [await died(api, made, {"n": n}) for n in range(3)]
    result = await replayed(api)
    assert (result["replayed"], result["more"]) == (3, False)
    again = [await found(api, id_) for id_ in result["items"]]
    assert [each["replay_of"] for each in again] == [each["id"] for each in dead]
    assert [each["status"] for each in again] == ["waiting", "blocked", "blocked"]
    assert {each["triggered_by"] for each in again} == {"api"}
    assert await replayed(api) == {"replayed": 0, "items": [], "more": False}
    payloads: list[str | None] = []
    for _ in range(3):
        (claim,) = await settled(api)
        payloads.append(claim.payload)
    assert payloads == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    # Dead again, they are letters of their own; those they repeat are not.
    result = await replayed(api)
    assert result["replayed"] == 3
    first = await found(api, result["items"][0])
    assert first["replay_of"] == again[0]["id"]
    assert (await found(api, dead[0]["id"]))["status"] == "dead"


async def test_two_who_replay_all_at_the_same_time_replay_it_once(api: Api) -> None:
    """Such as a client that ran out of patience and asks again."""
    made = await api.created()
    for _ in range(3):
        await died(api, made)
    db = api.engine.db
    async with db.transaction() as tx:
        # Both come as far as they can before either has written anything.
        await tx.fetch("SELECT FROM timers FOR UPDATE")
        both = [asyncio.create_task(replayed(api)) for _ in range(2)]
        async with asyncio.timeout(patience(10)):
            while await db.run(lambda each: each.fetch_value(_WAITING), read_only=True) < 2:
                pass
    assert sorted([(await each)["replayed"] for each in both]) == [0, 3]


async def test_a_filter_and_a_limit_narrow_it_down_and_more_says_so(api: Api) -> None:
    made, other = await api.created(name="a"), await api.created(name="b")
    dead = [await died(api, made) for _ in range(3)]
    await died(api, other)
    result = await replayed(api, schedule_id=made["id"], limit=2)
    assert (result["replayed"], result["more"]) == (2, True)
    rest = await replayed(api, schedule_id=made["id"], limit=2)
    assert (rest["replayed"], rest["more"]) == (1, False)
    assert (await found(api, rest["items"][0]))["replay_of"] == dead[2]["id"]
    assert (await replayed(api, since="2090-01-01T00:00:00Z"))["replayed"] == 0
    assert (await replayed(api))["replayed"] == 1


async def test_those_of_a_schedule_that_allows_overlap_run_at_once(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    for _ in range(2):
        await died(api, made)
    again = [await found(api, id_) for id_ in (await replayed(api))["items"]]
    assert [each["status"] for each in again] == ["waiting", "waiting"]


async def test_they_wait_behind_what_is_live_and_are_not_skipped(api: Api) -> None:
    made = await api.created(overlap_policy="skip")
    await died(api, made)
    await triggered(api, made)
    (id_,) = (await replayed(api))["items"]
    assert (await found(api, id_))["status"] == "blocked"
    await settled(api, status="succeeded")
    assert (await found(api, id_))["status"] == "waiting"


async def test_named_firings_are_replayed_whatever_became_of_them(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    dead = await died(api, made)
    await triggered(api, made)
    (done,) = await settled(api, status="succeeded")
    wanted = [ids.to_text(ids.Kind.FIRING, done.id), dead["id"]]
    again = [await found(api, id_) for id_ in (await replayed(api, ids=wanted))["items"]]
    assert [each["replay_of"] for each in again] == wanted
    assert (await replayed(api, ids=wanted))["replayed"] == 2


async def test_a_name_that_cannot_be_replayed_refuses_them_all(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    dead, live = await died(api, made), await triggered(api, made)
    nobodys = "fir_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    answer = await api.post("/v1/dead/replay", {"ids": [dead["id"], live["id"], nobodys]})
    problem(answer, 422)
    assert fields_of(answer) == ["ids[1]", "ids[2]"]
    assert (await replayed(api))["replayed"] == 1


async def test_what_has_no_schedule_any_more_is_left_out(api: Api) -> None:
    made = await api.created()
    await died(api, made)
    await api.delete(f"/v1/schedules/{made['id']}")
    assert (await replayed(api))["replayed"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 10_001}, "limit"),
        ({"ids": []}, "ids"),
        ({"ids": ["sch_1"]}, "id"),
        ({"ids": ["fir_01ARZ3NDEKTSV4RRFFQ69G5FAV"], "limit": 5}, "ids"),
        ({"since": "lately"}, "since"),
        ({"schedule_id": "x"}, "schedule_id"),
        ({"everything": True}, "everything"),
    ],
)
async def test_what_cannot_be_asked_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    answer = await api.post("/v1/dead/replay", body)
    problem(answer, 422)
    assert fields_of(answer) == [field]


async def test_ten_thousand_go_in_one_call(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    id_ = ids.from_text(ids.Kind.SCHEDULE, made["id"])
    async with api.engine.db.transaction() as tx:
        await tx.execute(_MANY, id_, 10_005)
    first = await replayed(api)
    assert (first["replayed"], first["more"]) == (10_000, True)
    assert len(set(first["items"])) == 10_000
    last = await replayed(api)
    assert (last["replayed"], last["more"]) == (5, False)


async def test_nobody_replays_anothers(engine: Engine, http: httpx.AsyncClient, api: Api) -> None:
    dead = await died(api, await api.created())
    stranger = await caller(engine, http, "admin", tenant="another")
    assert (await replayed(stranger))["replayed"] == 0
    problem(await stranger.post("/v1/dead/replay", {"ids": [dead["id"]]}), 422)
