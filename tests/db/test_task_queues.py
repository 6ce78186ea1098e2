"""Each program has a queue of its own, and finds there whatever names one of its tasks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
import pytest
from tests.db.library_kit import RULES
from tests.db.queue_support import queue_rows
from tests.db.schedules import Office
from tests.deadlines import patience

from rota import Context, Rota
from rota.clock import SystemClock
from rota.events import Recorder
from rota.schedules import create, fields, run_now, task_queues, update
from rota.schedules import definition as definitions
from rota.schedules.definition import Definition
from rota.schedules.steps import Step
from rota.tenants import sql as tenants_sql
from rota.workers.tasks.events import TaskUnknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.db import Database

CLOCK = SystemClock()
QUEUES = {"shop.ship": "shop", "shop.undo": "shop"}
STEPS: list[dict[str, Any]] = [
    {"name": "call", "target_url": "https://a.example/x"},
    {"name": "ship", "job_type": "shop.ship", "compensate": {"job_type": "shop.undo"}},
    {"name": "own", "job_type": "shop.ship", "queue": "default"},
]


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def _register(office: Office, queues: Mapping[str, str] = QUEUES) -> None:
    async with office.db.transaction() as tx:
        await task_queues.register(tx, office.tenant.id, "shop", queues)


async def _adopt(office: Office, queues: Mapping[str, str] = QUEUES) -> int:
    async with office.db.transaction() as tx:
        return await task_queues.adopt(tx, office.tenant.id, queues)


async def _create(office: Office, key: str, **given: Any) -> Any:
    async with office.db.transaction() as tx:
        whole = {"key": key, "on_demand": True, **given}
        return (await create.create(tx, office.tenant, whole, shards=64)).schedule


async def _stored(db: Database) -> dict[str, Definition]:
    async with db.transaction() as tx:
        found = await tx.fetch("SELECT key, definition::text AS d FROM schedules")
    return {row["key"]: definitions.decode(row["d"]) for row in found}


def test_a_queue_that_was_not_given_is_not_stored_and_reads_back_as_the_default() -> None:
    given = {"key": "k", "on_demand": True, "job_type": "shop.ship"}
    now = CLOCK.now()
    without = fields.read(given, now=now).definition
    explicit = fields.read({**given, "queue": "default"}, now=now).definition
    assert "queue" not in msgspec.json.decode(definitions.encode(without))
    assert msgspec.json.decode(definitions.encode(explicit))["queue"] == "default"
    assert without.lane == explicit.lane == "default"
    assert fields.write(without)["queue"] == fields.write(explicit)["queue"] == "default"
    assert "queue" not in fields.merge(without, {"description": "x"})
    assert fields.merge(explicit, {"description": "x"})["queue"] == "default"


def test_only_tasks_without_a_queue_are_placed() -> None:
    call = Step(name="a", job_type="shop.ship", compensate=Step(job_type="shop.undo"))
    fixed = Step(name="b", job_type="shop.ship", queue="default")
    saga = Definition(name="s", key="s", on_demand=True, steps=(call, fixed))
    assert task_queues.unplaced(saga) == {"shop.ship", "shop.undo"}
    placed = task_queues.placed(saga, {"shop.ship": "shop"})
    assert placed.steps is not None
    assert [each.queue for each in placed.steps] == ["shop", "default"]
    assert placed.steps[0].compensate is not None
    assert placed.steps[0].compensate.queue is None
    plain = Definition(name="p", key="p", on_demand=True, target_url="https://a.example/x")
    assert task_queues.placed(plain, QUEUES) is plain


async def test_what_names_a_task_and_no_queue_goes_where_its_program_has_it(
    db: Database, office: Office
) -> None:
    await _register(office)
    await _create(office, "open", job_type="shop.ship")
    await _create(office, "fixed", job_type="shop.ship", queue="default")
    await _create(office, "other", job_type="unknown.task")
    await _create(office, "saga", steps=STEPS)
    many = [
        {"key": f"many-{n}", "cron_expr": "0 9 * * *", "job_type": "shop.ship", "payload": n}
        for n in range(30)
    ]
    await create.create_many(db, office.tenant, many, shards=64)
    async with db.transaction() as tx:
        edited = await update.upsert_by_key(
            tx, office.tenant, "other", {"on_demand": True, "job_type": "shop.ship"}, shards=64
        )
    async with db.transaction() as tx:
        again = await update.upsert_by_key(
            tx, office.tenant, "open", {"on_demand": True, "job_type": "shop.ship"}, shards=64
        )
    assert (edited.schedule.definition.queue, again.outcome) == ("shop", "unchanged")
    lanes = {key: each.lane for key, each in (await _stored(db)).items()}
    assert lanes.pop("fixed") == "default"
    assert lanes.pop("saga") == "http"
    assert set(lanes.values()) == {"shop"}
    steps = (await _stored(db))["saga"].steps
    assert steps is not None
    assert [each.queue for each in steps] == [None, "shop", "default"]
    assert steps[1].compensate is not None
    assert steps[1].compensate.queue == "shop"


async def test_another_tenants_registration_says_nothing(db: Database, office: Office) -> None:
    async with db.transaction() as tx:
        await tenants_sql.make_tenant(tx, uuid4(), "other", timedelta(seconds=1))
        tenant = await tenants_sql.tenant_named(tx, "other")
    assert tenant is not None
    other = Office(db, tenant)
    await _register(other)
    await _create(office, "open", job_type="shop.ship")
    assert (await _stored(db))["open"].queue is None
    assert await _adopt(other) == 0


async def test_schedules_that_were_there_first_are_adopted_with_what_waits(
    db: Database, office: Office
) -> None:
    """Nothing is skipped for it, and whoever has claimed one keeps it."""
    open_ = await _create(office, "open", job_type="shop.ship", overlap_policy="allow")
    fixed = await _create(
        office, "fixed", job_type="shop.ship", queue="default", overlap_policy="allow"
    )
    timed = await _create(
        office, "timed", on_demand=None, cron_expr="0 9 * * *", job_type="shop.ship"
    )
    await _create(office, "after", on_demand=None, after={"key": "open"}, job_type="shop.ship")
    for each in (*[open_] * 4, fixed, timed):
        async with db.transaction() as tx:
            await run_now.trigger_now(tx, office.tenant, each.id)
    async with db.transaction() as tx:
        await tx.execute(
            """UPDATE queue q SET state = x.state, attempt = x.attempt,
                      worker = CASE x.state WHEN 'running' THEN gen_random_uuid() END
                 FROM (SELECT id, (ARRAY['waiting','retrying','blocked','running'])[n] AS state,
                              (ARRAY[0, 2, 0, 1])[n] AS attempt
                         FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM queue
                                WHERE schedule_id = $1) AS o) AS x
                WHERE q.id = x.id""",
            open_.id,
        )
    before = await queue_rows(db)
    await _register(office)
    assert await _adopt(office) == 3
    assert await _adopt(office) == 0
    after = await queue_rows(db)
    assert {id_: row["state"] for id_, row in after.items()} == {
        id_: row["state"] for id_, row in before.items()
    }
    lanes = {row["schedule_id"]: row["lane"] for row in after.values()}
    assert lanes == {open_.id: "shop", timed.id: "shop", fixed.id: "default"}
    assert {row["version"] for row in after.values() if row["lane"] == "shop"} == {2}
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM firings") == 0
        assert await tx.fetch_value("SELECT lane FROM followers") == "shop"
        versions = await tx.fetch(
            "SELECT s.version, t.version AS armed FROM schedules s "
            "JOIN timers t ON t.schedule_id = s.id WHERE s.key = 'timed'"
        )
    assert [(row["version"], row["armed"]) for row in versions] == [(2, 2)]


async def test_a_saga_under_way_goes_on_in_the_queue_of_its_program(
    db: Database, office: Office
) -> None:
    saga = await _create(office, "saga", steps=STEPS)
    stored = definitions.encode((await _stored(db))["saga"])
    state = f'{{"at": 1, "step": "ship", "definition": {stored}, "steps": []}}'
    async with db.transaction() as tx:
        await run_now.trigger_now(tx, office.tenant, saga.id)
        await tx.execute("UPDATE queue SET lane = 'default', saga = $1::text::jsonb", state)
    await _register(office)
    assert await _adopt(office) == 1
    (row,) = (await queue_rows(db)).values()
    assert row["lane"] == "shop"
    kept = msgspec.convert(msgspec.json.decode(row["saga"])["definition"], Definition)
    assert [each.queue for each in kept.steps or ()] == [None, "shop", "default"]


# Programs


def _program(dsn: str, name: str, **options: Any) -> tuple[Rota, list[str]]:
    """One with a task and a schedule of it; the keys of the schedules that it ran."""
    rota, ran = Rota(dsn, name=name, **RULES, **options), list[str]()

    @rota.task(name=f"{name}.note")
    async def note(context: Context) -> None:
        ran.append(context.schedule_key)

    rota.schedule("every second", key=f"{name}-tick", overlap_policy="allow")(note)
    return rota, ran


async def _until(holds: Any) -> None:
    async with asyncio.timeout(patience(60)):
        while not holds():
            await CLOCK.sleep(timedelta(milliseconds=50))


async def test_two_programs_on_one_database_do_not_see_each_others_tasks(
    dsn: str, db: Database
) -> None:
    """With default settings: neither claims what it does not know, to put it back for seconds."""
    shop, in_shop = _program(dsn, "shop")
    mail, in_mail = _program(dsn, "mail")
    assert (shop.queue, mail.queue) == ("shop", "mail")
    async with shop, mail:
        recorders = [Recorder(each.running.bus) for each in (shop, mail)]
        await _until(lambda: len(in_shop) >= 4 and len(in_mail) >= 4)
        assert [each.all(TaskUnknown) for each in recorders] == [[], []]
    assert (set(in_shop), set(in_mail)) == ({"shop-tick"}, {"mail-tick"})
    async with db.transaction() as tx:
        lanes = await tx.fetch(
            "SELECT DISTINCT definition ->> 'job_type' AS task, definition ->> 'queue' AS queue "
            "FROM schedules"
        )
        outcomes = await tx.fetch("SELECT DISTINCT status, attempt FROM firings")
    assert {(row["task"], row["queue"]) for row in lanes} == {
        ("shop.note", "shop"),
        ("mail.note", "mail"),
    }
    assert {(row["status"], row["attempt"]) for row in outcomes} <= {("succeeded", 1)}


@pytest.mark.parametrize("first", ["schedule", "program"])
async def test_the_order_of_starting_and_creating_does_not_matter(
    dsn: str, office: Office, first: str
) -> None:
    shop, ran = _program(dsn, "shop")

    async def create() -> None:
        made = await _create(office, "by-api", job_type="shop.note")
        async with office.db.transaction() as tx:
            await run_now.trigger_now(tx, office.tenant, made.id)

    if first == "schedule":
        await create()
    async with shop:
        if first == "program":
            await create()
        await _until(lambda: "by-api" in ran)


async def test_a_program_that_was_declared_before_queues_were_its_own_loses_nothing(
    dsn: str, db: Database, office: Office
) -> None:
    """The first start after an upgrade: what waits in `default` is moved, and not taken back."""
    old = Rota(dsn, name="shop", roles=(), **RULES)

    async def run() -> None: ...

    old.task(name="shop.note", queue="default")(run)
    async with old:
        pass
    made = await _create(
        office, "report", on_demand=None, text="every day at 9am", job_type="shop.note"
    )
    async with db.transaction() as tx:
        await run_now.trigger_now(tx, office.tenant, made.id)
        # As earlier versions stored it.
        await tx.execute("UPDATE schedules SET definition = definition - 'queue'")
    shop, ran = _program(dsn, "shop")
    async with shop:
        await _until(lambda: "report" in ran)
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM firings WHERE status = 'skipped'") == 0
