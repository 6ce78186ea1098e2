"""GET /v1/stats and GET /v1/cluster."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.api.conftest import Api, caller, problem
from tests.api.test_circuits import fail
from tests.api.test_log import record

from rota.history import stats
from rota.leases import Node
from rota.leases import sql as leases_sql

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


async def figures(api: Api) -> dict[str, Any]:
    answer = await api.get("/v1/stats")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def now(api: Api) -> datetime:
    async with api.engine.db.transaction() as tx:
        return await tx.fetch_value("SELECT clock_timestamp()")


async def test_a_tenant_that_has_nothing_has_figures_all_the_same(api: Api) -> None:
    found = await figures(api)
    assert found["schedules"] == {"active": 0, "paused": 0, "completed": 0}
    assert found["queue"] == {"waiting": 0, "running": 0, "retrying": 0, "blocked": 0}
    assert set(found["firings_last_hour"].values()) == {0}
    assert (found["lateness_seconds"], found["next_due_at"]) == (0, None)
    assert found["bound"] == stats.BOUND


async def test_schedules_and_what_is_due_next_are_counted(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await api.created(cron_expr=None, interval="1h")
    await api.created(name="second", cron_expr=None, interval="3h", key="second")
    paused = await api.created(name="third", cron_expr=None, interval="61s", key="third")
    await api.post(f"/v1/schedules/{paused['id']}/pause")
    found = await figures(api)
    assert found["schedules"] == {"active": 2, "paused": 1, "completed": 0}
    assert found["next_due_at"] == first["next_fire_at"]
    # With many schedules it is found along another index; the answer is the same.
    monkeypatch.setattr(stats, "_FEW", 0)
    assert (await figures(api))["next_due_at"] == first["next_fire_at"]


async def test_the_queue_is_counted_by_what_people_see(api: Api) -> None:
    made = await api.created(overlap_policy="queue")
    for _ in range(3):
        await api.post(f"/v1/schedules/{made['id']}/trigger")
    found = await figures(api)
    assert found["queue"] == {"waiting": 1, "running": 0, "retrying": 0, "blocked": 2}
    async with api.engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE queue SET state = 'running', worker = $1, attempt = 1, "
            "claimed_until = now() + interval '1 h', available_at = now() + interval '1 min' "
            "WHERE state = 'waiting'",
            uuid4(),
        )
    assert (await figures(api))["queue"]["waiting"] == 1, "held ahead of its instant"
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE queue SET available_at = now() WHERE state = 'running'")
    assert (await figures(api))["queue"]["running"] == 1


async def test_the_oldest_that_waits_says_how_late_we_are(api: Api) -> None:
    for priority in (1, 9):
        made = await api.created(name=f"p{priority}", key=f"p{priority}", priority=priority)
        await api.post(f"/v1/schedules/{made['id']}/trigger")
    async with api.engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE queue SET available_at = now() - interval '90 s' WHERE priority = 1"
        )
    assert 90 <= (await figures(api))["lateness_seconds"] < 120


async def test_the_last_hour_is_counted_by_when_firings_ended(api: Api) -> None:
    made, at = await api.created(), await now(api)
    await record(api, made, at - timedelta(minutes=59), at - timedelta(minutes=61))
    await record(api, made, at - timedelta(minutes=1), status="dead")
    ended = (await figures(api))["firings_last_hour"]
    assert {status for status, count in ended.items() if count} == {"succeeded", "dead"}
    assert (ended["succeeded"], ended["dead"]) == (1, 1)


async def test_counting_stops_at_the_bound(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made, at = await api.created(overlap_policy="allow"), await now(api)
    await record(api, made, at, at, at)
    await record(api, made, at, status="dead")
    for _ in range(3):
        await api.post(f"/v1/schedules/{made['id']}/trigger")
    monkeypatch.setattr(stats, "BOUND", 2)
    found = await figures(api)
    assert found["bound"] == 2
    assert found["firings_last_hour"]["succeeded"] == 2
    assert found["firings_last_hour"]["dead"] == 1, "a rare status is exact beside a frequent one"
    assert found["queue"]["waiting"] == 2


async def test_figures_are_the_tenants_own(engine: Engine, http: httpx.AsyncClient) -> None:
    """S6."""
    acme = await caller(engine, http, "write", tenant="acme")
    other = await caller(engine, http, "read", tenant="other")
    made = await acme.created()
    await record(acme, made, await now(acme))
    await acme.post(f"/v1/schedules/{made['id']}/trigger")
    found = await figures(other)
    counts = [*found["schedules"].values(), *found["queue"].values()]
    assert {*counts, *found["firings_last_hour"].values()} == {0}
    assert (found["next_due_at"], found["lateness_seconds"]) == (None, 0)


async def test_the_cluster_shows_nodes_and_shards(api: Api) -> None:
    node = Node.start(["api", "scheduler"])
    db = api.engine.db
    await leases_sql.beat(db, node)
    (grant,) = await leases_sql.take(
        db, node, 1, known=(), ttl=timedelta(seconds=30), grace=timedelta(seconds=2)
    )
    found = (await api.get("/v1/cluster")).json()
    (shown,) = found["nodes"]
    assert (shown["id"], shown["roles"], shown["alive"]) == (str(node.id), [*node.roles], True)
    assert (shown["host"], shown["pid"], shown["version"]) == (node.host, node.pid, node.version)
    assert len(found["shards"]) == api.engine.shards
    taken = found["shards"][grant.shard]
    assert (taken["holder"], taken["fence"], taken["held"]) == (str(node.id), grant.fence, True)
    assert taken["leased_until"] > found["now"]
    free = found["shards"][-1]
    assert (free["holder"], free["held"], free["leased_until"]) == (None, False, None)


async def test_a_node_that_was_not_seen_for_long_is_not_alive(api: Api) -> None:
    await leases_sql.beat(api.engine.db, Node.start(["worker"]))
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE nodes SET seen_at = now() - interval '10 s'")
    (shown,) = (await api.get("/v1/cluster")).json()["nodes"]
    assert shown["alive"] is False


async def test_the_lag_of_a_shard_is_that_of_its_oldest_overdue_timer(api: Api) -> None:
    """OB2, F13."""
    await api.created()
    async with api.engine.db.transaction() as tx:
        shard: int = await tx.fetch_value(
            "UPDATE timers SET due_at = now() - interval '1 h' RETURNING shard"
        )
    shards = (await api.get("/v1/cluster")).json()["shards"]
    late = [each["shard"] for each in shards if each["lag_seconds"]]
    assert late == [shard]
    assert 3600 <= shards[shard]["lag_seconds"] < 3700


async def test_hosts_that_fail_are_shown(api: Api) -> None:
    """HX5."""
    await fail(api, "down.example")
    (one,) = (await api.get("/v1/cluster")).json()["circuits"]
    assert (one["host"], one["state"]) == ("down.example", "open")


async def test_the_cluster_is_for_the_operator(engine: Engine, http: httpx.AsyncClient) -> None:
    problem(await (await caller(engine, http, "write")).get("/v1/cluster"), 403)
    problem(await (await caller(engine, http, "admin", tenant="acme")).get("/v1/cluster"), 403)


@pytest.mark.parametrize("path", ["/v1/stats", "/v1/cluster"])
async def test_they_take_no_parameters(api: Api, path: str) -> None:
    problem(await api.get(path, tenant="acme"), 422)
