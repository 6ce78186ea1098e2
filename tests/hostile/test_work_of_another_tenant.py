"""A tenant's key makes nobody else's program do anything, whatever it writes and however.

Alpha's program runs: its tasks, and a worker on every lane. Beta has no program; it writes work for
queues and tasks of the same names. A sentinel run of alpha's shows that the worker has looked at
all lanes since: one claim asks for all of them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, engine, http
from tests.api.outcomes import vault
from tests.db.library_kit import RULES
from tests.db.queue_support import queue_rows
from tests.db.watch_kit import rows, watch
from tests.deadlines import patience

from rota import Rota, ids
from rota.clock import SystemClock
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from uuid import UUID

    import httpx

    from rota.api.engine import Engine
    from rota.db import Database

__all__ = ["engine", "http"]


CLOCK = SystemClock()
_MOMENT = timedelta(milliseconds=50)
TASK = "pay.out"
QUEUE = "payments"
ASKED: dict[str, Any] = {"on_demand": True, "overlap_policy": "allow", "max_attempts": 1}
TARGETS: dict[str, dict[str, Any]] = {
    "http": {"target_url": "http://127.0.0.1:9/hook"},
    "task": {"job_type": TASK, "queue": QUEUE},
    "stream": {"stream": "redis://127.0.0.1:9/events"},
    "celery": {"celery_task": "proj.tasks.pay", "queue": "celery"},
    "steps": {"steps": [{"job_type": TASK, "queue": QUEUE}, {"job_type": TASK, "queue": QUEUE}]},
}
LANES = {"http", QUEUE, "stream", "celery"}


@pytest.fixture(autouse=True)
def _with_a_ring(engine: Engine) -> None:
    # The engine is made for every test anew.
    object.__setattr__(engine, "vault", vault())


class Program:
    """A program with one task, which notes for whom it runs."""

    def __init__(self, dsn: str, tenant: str, **options: Any) -> None:
        self.ran: list[str] = []
        given: dict[str, Any] = {**RULES, "celery_broker_url": "redis://127.0.0.1:9/0", **options}
        self.rota = Rota(dsn, name=QUEUE, tenant=tenant, allow_private_targets=True, **given)

        @self.rota.task(name=TASK)
        async def pay(who: str = "nobody", **_: Any) -> str:
            self.ran.append(who)
            return who

        self.task = pay

    async def looked(self) -> None:
        """Until its worker has claimed and run something that was entered just now."""
        handle = await self.task.enqueue(who="sentinel")
        assert await handle.result(timeout=patience(60)) == "sentinel"


async def _beta(engine: Engine, http: httpx.AsyncClient) -> Api:
    """Somebody with a write key of beta, whom the operator lets send this Celery task."""
    beta = await caller(engine, http, "write", tenant="beta")
    async with engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE tenants SET celery_allow = '{proj.tasks.*@celery}' WHERE name = 'beta'"
        )
    return beta


async def _make(beta: Api, key: str, **fields: Any) -> str:
    """A schedule of beta's; its id."""
    payload = {} if "steps" in fields else {"payload": {"who": key}}
    answer = await beta.post("/v1/schedules", {"key": key, **payload, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def _soon() -> str:
    return (CLOCK.now() + timedelta(seconds=2)).isoformat()


async def _write_work(beta: Api, db: Database) -> None:
    """Work for alpha's program, by every kind of target and every way in."""
    for kind, target in TARGETS.items():
        await _make(beta, f"timed-{kind}", run_at=_soon(), **target)
        asked = await _make(beta, f"asked-{kind}", **ASKED, **target)
        answer = await beta.post(f"/v1/schedules/{asked}/trigger")
        assert answer.status_code == 202, answer.text
        replayed = await beta.post(f"/v1/firings/{await _dead(db, asked)}/replay")
        assert replayed.status_code in {201, 202}, replayed.text
    bulk = [
        {"key": f"bulk-{kind}", "run_at": _soon(), "payload": None, **target}
        for kind, target in TARGETS.items()
    ]
    assert (await beta.post("/v1/schedules/bulk", {"items": bulk})).status_code == 201
    await _end_what_others_follow(beta)
    async with db.transaction() as tx:
        tenant = await tx.fetch_value("SELECT id FROM tenants WHERE name = 'beta'")
        await tx.fetch(
            "SELECT rota.enqueue('asked-task', '{\"who\": \"sql\"}', tenant => $1)", tenant
        )


async def _dead(db: Database, schedule: str) -> str:
    """A firing of the schedule that has died, to be replayed."""
    now = CLOCK.now()
    id_ = ids.new(at=now)
    async with db.transaction() as tx:
        await tx.execute(
            """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                    attempt, triggered_by, finished_at)
               SELECT $1, s.id, s.tenant_id, 1, $3, 'dead', 1, 'api', $3
                 FROM schedules s WHERE s.id = $2""",
            id_,
            ids.from_text(ids.Kind.SCHEDULE, schedule),
            now,
        )
    return ids.to_text(ids.Kind.FIRING, id_)


async def _end_what_others_follow(beta: Api) -> None:
    """One of beta's own pull workers ends a firing, after which work for alpha's queue follows."""
    first = await _make(beta, "first", **ASKED, job_type="own.work", queue="beta-pulls")
    for kind, target in TARGETS.items():
        await _make(beta, f"after-{kind}", after={"key": "first"}, **target)
    await beta.post(f"/v1/schedules/{first}/trigger")
    claimed = await beta.post("/v1/queues/beta-pulls/claim", {"limit": 1})
    (item,) = claimed.json()["items"]
    path = f"/v1/firings/{item['id']}/complete"
    answer = await beta.http.post(path, json={"token": item["token"]})
    assert answer.status_code == 200, answer.text


async def _of_beta(db: Database) -> dict[UUID, Any]:
    async with db.transaction() as tx:
        beta = await tx.fetch_value("SELECT id FROM tenants WHERE name = 'beta'")
    return {id_: row for id_, row in (await queue_rows(db)).items() if row["tenant_id"] == beta}


async def _until_all_is_entered(db: Database) -> None:
    """5 kinds, each timed, asked for, replayed, in bulk and following; and one by SQL."""
    async with asyncio.timeout(patience(60)):
        while len(await _of_beta(db)) < 5 * len(TARGETS) + 1:
            await CLOCK.sleep(_MOMENT)


async def test_nothing_that_a_tenant_writes_is_run_by_another_tenants_program(
    dsn: str, db: Database, engine: Engine, http: httpx.AsyncClient
) -> None:
    beta = await _beta(engine, http)
    await caller(engine, http, "write", tenant="alpha")
    alpha = Program(dsn, "alpha")
    async with alpha.rota:
        await _write_work(beta, db)
        await _until_all_is_entered(db)
        await alpha.looked()
        await _age(db)
        await alpha.looked()
        await watch(db)
    left = await _of_beta(db)
    assert len(left) == 5 * len(TARGETS) + 1
    assert {(row["state"], row["attempt"], row["worker"]) for row in left.values()} == {
        ("waiting", 0, None)
    }
    assert {row["lane"] for row in left.values()} == LANES
    assert set(alpha.ran) == {"sentinel"}
    await _require_told(db)


async def _age(db: Database) -> None:
    """As if they had waited for longer than any worker would let them."""
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE queue SET available_at = available_at - interval '3 minutes' "
            "WHERE tenant_id = (SELECT id FROM tenants WHERE name = 'beta')"
        )


async def _require_told(db: Database) -> None:
    """Beta's owner, and nobody else, is told of each slot that no worker takes."""
    async with db.transaction() as tx:
        found = await tx.fetch(
            """SELECT t.name, s.key, a.detail
                 FROM alerts a JOIN tenants t ON t.id = a.tenant_id
                 JOIN schedules s ON s.id = a.schedule_id
                WHERE a.kind = 'overdue' AND a.closed_at IS NULL"""
        )
    timed = {f"{way}-{kind}" for kind in TARGETS for way in ("timed", "bulk")}
    assert {(row["name"], row["key"]) for row in found} == {("beta", key) for key in timed}
    assert all("has waited for a worker" in row["detail"] for row in found)


async def test_the_same_work_is_run_by_the_tenants_own_program(
    dsn: str, db: Database, engine: Engine, http: httpx.AsyncClient
) -> None:
    beta = await _beta(engine, http)
    await caller(engine, http, "write", tenant="alpha")
    alpha, own = Program(dsn, "alpha"), Program(dsn, "beta")
    async with alpha.rota, own.rota:
        await _make(beta, "asked", **ASKED, **TARGETS["task"])
        schedule = await _make(beta, "timed", run_at=_soon(), **TARGETS["task"])
        await _until_ran(own, "timed")
        ended = (await beta.get(f"/v1/schedules/{schedule}/firings")).json()["items"]
        assert [each["attempt"] for each in ended] <= [1]
        await alpha.looked()
    assert set(alpha.ran) == {"sentinel"}


async def test_a_program_runs_the_tasks_of_the_tenants_it_names_and_of_no_other(
    dsn: str, engine: Engine, http: httpx.AsyncClient, db: Database
) -> None:
    beta = await _beta(engine, http)
    gamma = await caller(engine, http, "write", tenant="gamma")
    await caller(engine, http, "write", tenant="alpha")
    shared = Program(dsn, "alpha", tenants=["beta"])
    async with shared.rota:
        # Registered for beta as well: it need not know the queue.
        await _make(beta, "ours", run_at=_soon(), job_type=TASK)
        await _make(gamma, "theirs", run_at=_soon(), **TARGETS["task"])
        await _until_ran(shared, "ours")
        async with asyncio.timeout(patience(60)):
            while not await queue_rows(db):
                await CLOCK.sleep(_MOMENT)
        await shared.looked()
    assert set(shared.ran) == {"ours", "sentinel"}
    (left,) = (await queue_rows(db)).values()
    assert (left["state"], left["attempt"]) == ("waiting", 0)


async def test_a_program_for_all_tenants_says_so(
    dsn: str, engine: Engine, http: httpx.AsyncClient
) -> None:
    beta = await _beta(engine, http)
    await caller(engine, http, "write", tenant="alpha")
    shared = Program(dsn, "alpha", tenants="all")
    async with shared.rota:
        await _make(beta, "ours", run_at=_soon(), **TARGETS["task"])
        await _until_ran(shared, "ours")


async def test_a_tenant_that_does_not_exist_is_refused_at_the_start(
    dsn: str, engine: Engine, http: httpx.AsyncClient
) -> None:
    await caller(engine, http, "write", tenant="alpha")
    with pytest.raises(InvalidConfig, match="tenants: expected one that exists, got 'delta'"):
        await Program(dsn, "alpha", tenants="alpha,delta").rota.start()
    with pytest.raises(InvalidConfig, match="`all` next to names"):
        Program(dsn, "alpha", tenants=["all", "alpha"])


async def test_a_pull_worker_gets_nothing_of_another_tenants_queue(
    engine: Engine, http: httpx.AsyncClient
) -> None:
    beta = await _beta(engine, http)
    alpha = await caller(engine, http, "write", tenant="alpha")
    schedule = await _make(beta, "asked", **ASKED, **TARGETS["task"])
    await beta.post(f"/v1/schedules/{schedule}/trigger")
    path = f"/v1/queues/{QUEUE}/claim"
    assert (await alpha.post(path, {"limit": 10})).json()["items"] == []
    (item,) = (await beta.post(path, {"limit": 10})).json()["items"]
    for verb in ("complete", "fail", "extend"):
        answer = await alpha.post(f"/v1/firings/{item['id']}/{verb}", {"token": "guessed"})
        assert answer.status_code in {400, 401, 403, 404, 422}, answer.text


async def test_a_login_of_one_tenant_enqueues_nothing_for_another(
    db: Database, engine: Engine, http: httpx.AsyncClient
) -> None:
    beta = await _beta(engine, http)
    alpha = await caller(engine, http, "write", tenant="alpha")
    await _make(alpha, f"task:{TASK}", **ASKED, **TARGETS["task"])
    assert (await beta.get("/v1/schedules")).json()["items"] == []
    async with db.transaction() as tx:
        found = {row["name"]: row["id"] for row in await tx.fetch("SELECT id, name FROM tenants")}
    for given in ("tenant => $1::uuid", "tenant => coalesce(NULL, $1::uuid)"):
        with pytest.raises(Exception, match="there is no task"):
            async with db.transaction(tenant=found["beta"]) as tx:
                await tx.fetch(f"SELECT rota.enqueue('{TASK}', {given})", found["alpha"])  # pyright: ignore[reportArgumentType]
    assert await queue_rows(db) == {}


async def test_alerts_of_one_tenant_leave_room_for_those_of_another(db: Database) -> None:
    """However many schedules of one tenant wait for a worker."""
    async with db.transaction() as tx:
        for name, count in (("alpha", 700), ("beta", 1)):
            await tx.execute(
                """WITH t AS (INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), $1)
                              RETURNING id),
                        s AS (INSERT INTO schedules (id, tenant_id, key, name, status, shard,
                                                     anchor_at, definition)
                              SELECT gen_random_uuid(), t.id, n::text, n::text, 'active', 0, now(),
                                     '{}' FROM t, generate_series(1, $2) AS n
                              RETURNING id, tenant_id)
                   INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for,
                                      available_at, state, triggered_by, lane, priority)
                   SELECT gen_random_uuid(), s.id, s.tenant_id, 1, now(),
                          now() - interval '1 hour', 'waiting', 'schedule', 'nobody',
                          (random() * 9)::int FROM s""",
                name,
                count,
            )
    await watch(db)
    async with db.transaction() as tx:
        told = await tx.fetch_value(
            "SELECT count(*) FROM alerts a JOIN tenants t ON t.id = a.tenant_id "
            "WHERE t.name = 'beta' AND a.kind = 'overdue'"
        )
    assert told == 1
    assert len(await rows(db, "alerts")) <= 502


async def _until_ran(program: Program, who: str) -> None:
    async with asyncio.timeout(patience(60)):
        while who not in program.ran:
            await CLOCK.sleep(_MOMENT)
