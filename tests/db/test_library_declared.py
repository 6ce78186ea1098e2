"""Schedules declared in code: written when a program starts, changed when its code changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.db.library_kit import Deploy, program, report, schedules

from rota.library.errors import ForeignKey, InvalidDeclaration
from rota.library.events import DeclarationWaits, SchedulesLeft
from rota.schedules import create, pause, update
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota import Rota
    from rota.db import Database
    from rota.library.declaring import Declarer


@pytest.fixture
async def deploy(db: Database) -> AsyncGenerator[Deploy]:
    """Processes of one app, which end with the test."""
    made = Deploy(db)
    yield made
    await made.close()


NINE, TEN = "every day at 9am", "every day at 10am"


async def test_a_start_writes_what_the_code_says_and_a_second_one_nothing(
    dsn: str, db: Database
) -> None:
    async with program(dsn, report(NINE), report("1h", "hourly")):
        first = await schedules(db)
    async with program(dsn, report(NINE), report("1h", "hourly")):
        second = await schedules(db)
    assert set(first) == {"report", "hourly"}
    assert first["report"]["tags"] == ["app:billing"]
    assert {key: row["writer"] for key, row in first.items()} == {
        key: row["writer"] for key, row in second.items()
    }


async def test_a_change_of_the_code_changes_that_schedule_alone(
    db: Database, deploy: Deploy
) -> None:
    await deploy.run(report(NINE), report("1h", "hourly"))
    first = await schedules(db)
    await deploy.run(report(TEN), report("1h", "hourly"))
    second = await schedules(db)
    assert second["report"]["text"] == TEN
    assert second["report"]["version"] == 2
    assert second["report"]["id"] == first["report"]["id"]
    assert second["hourly"]["writer"] == first["hourly"]["writer"]


async def test_several_changes_of_the_code_are_one_transaction(
    db: Database, deploy: Deploy
) -> None:
    """Which locks the timers of all of them before it changes the first (`lock_order`)."""
    await deploy.run(report(NINE), report("1h", "hourly"), report("2h", "other"))
    await deploy.run(report(TEN), report("3h", "hourly"), prune=True)
    rows = await schedules(db)
    assert {key: row["version"] for key, row in rows.items()} == {"report": 2, "hourly": 2}


async def test_a_pause_by_its_owner_stays_over_restarts_and_changes(
    db: Database, deploy: Deploy
) -> None:
    await deploy.run(report(NINE))
    row = (await schedules(db))["report"]
    async with db.transaction() as tx:
        await pause.pause(tx, await tenants.default_tenant(tx), row["id"])
    await deploy.run(report(NINE))
    assert (await schedules(db))["report"]["status"] == "paused"
    await deploy.run(report(TEN))
    row = (await schedules(db))["report"]
    assert (row["status"], row["text"]) == ("paused", TEN)


async def test_an_edit_by_hand_stays_until_the_code_changes(db: Database, deploy: Deploy) -> None:
    await deploy.run(report(NINE))
    row = (await schedules(db))["report"]
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        await update.update(tx, tenant, row["id"], {"text": "every day at 3pm"})
    await deploy.run(report(NINE))
    assert (await schedules(db))["report"]["text"] == "every day at 3pm"
    await deploy.run(report(TEN))
    assert (await schedules(db))["report"]["text"] == TEN


async def test_what_was_deleted_by_hand_is_made_again(db: Database, deploy: Deploy) -> None:
    await deploy.run(report(NINE))
    row = (await schedules(db))["report"]
    async with db.transaction() as tx:
        await update.delete(tx, await tenants.default_tenant(tx), row["id"])
    await deploy.run(report(NINE))
    assert (await schedules(db))["report"]["id"] != row["id"]


async def test_one_made_by_hand_before_is_taken_over(db: Database, deploy: Deploy) -> None:
    await deploy.run()
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        fields = {"key": "report", "text": "every day at 3pm", "job_type": "old"}
        made = await create.create(tx, tenant, fields, shards=64)
    await deploy.run(report(NINE))
    row = (await schedules(db))["report"]
    assert (row["id"], row["text"]) == (made.schedule.id, NINE)


async def test_what_the_code_no_longer_has_goes_only_when_asked(
    db: Database, deploy: Deploy
) -> None:
    await deploy.run(report(NINE), report("1h", "hourly"), app="other")
    await deploy.run(report(NINE, "ours"), report("1h", "old"))
    await deploy.run(report(NINE, "ours"))
    assert set(await schedules(db)) == {"report", "hourly", "ours", "old"}
    await deploy.run(report(NINE, "ours"), prune=True)
    assert set(await schedules(db)) == {"report", "hourly", "ours"}
    # And the other app's are as they were, pruning or not.
    await deploy.run(prune=True, app="third")
    assert set(await schedules(db)) == {"report", "hourly", "ours"}


async def test_two_apps_cannot_declare_one_key(db: Database, deploy: Deploy) -> None:
    await deploy.run(report(NINE))
    with pytest.raises(ForeignKey, match="declared by 'billing'"):
        await program(db.dsn, report(TEN), app="other").start()
    assert (await schedules(db))["report"]["text"] == NINE


async def test_all_is_written_or_nothing(db: Database, deploy: Deploy) -> None:
    def circle(rota: Rota) -> None:
        for key, other in (("x", "y"), ("y", "x")):
            report(None, key, after=other)(rota)

    with pytest.raises(InvalidDeclaration):
        await program(db.dsn, report(NINE), circle).start()
    assert not await schedules(db)
    await deploy.run(report(NINE))
    assert set(await schedules(db)) == {"report"}


async def test_an_instant_that_has_passed_is_no_mistake(db: Database, deploy: Deploy) -> None:
    await deploy.run(report("2020-01-01T00:00:00Z"), report("1h", "hourly"))
    assert set(await schedules(db)) == {"hourly"}


async def test_a_declaration_follows_others_in_whatever_order(db: Database, deploy: Deploy) -> None:
    def chain(rota: Rota) -> None:
        report(None, "third", after="second")(rota)
        report(None, "second", after="first")(rota)
        report("1h", "first")(rota)

    await deploy.run(chain)
    assert set(await schedules(db)) == {"first", "second", "third"}


async def test_a_rolling_deploy_never_flips_back_and_forth(db: Database, deploy: Deploy) -> None:
    old, new = program(db.dsn, report(NINE)), program(db.dsn, report(TEN))
    told: list[str] = []
    deploy.bus.subscribe(DeclarationWaits, lambda event: told.append(event.schedules))
    await deploy.start(old)
    await deploy.start(new)
    assert await deploy.text() == TEN
    # The old build restarts again and again, as long as both run.
    again: list[Declarer] = []
    for _ in range(3):
        again.append((await deploy.start(old))[0])
        assert await deploy.text() == TEN
        for declarer in again:
            await declarer.run_once()
            await declarer.run_once()
            await declarer.run_once()
    assert await deploy.text() == TEN
    assert told == ["report"] * 3
    assert (await schedules(db))["report"]["version"] == 2


async def test_a_rollback_comes_into_force_when_the_newer_build_is_gone(
    db: Database, deploy: Deploy
) -> None:
    old, new = program(db.dsn, report(NINE)), program(db.dsn, report(TEN))
    _, gone = await deploy.start(old)
    await gone.close()
    _, newer = await deploy.start(new)
    waiting, _ = await deploy.start(old)
    assert await deploy.text() == TEN
    await newer.close()
    # One look is not enough: whoever lost a session for a moment is not gone.
    await waiting.run_once()
    assert await deploy.text() == TEN
    await waiting.run_once()
    assert await deploy.text() == NINE
    # And the newer build, should it come back, waits in its turn.
    await deploy.start(new)
    assert await deploy.text() == NINE


async def test_a_stop_and_a_start_of_an_older_build_is_a_rollback_at_once(
    db: Database,
) -> None:
    for text in (NINE, TEN, NINE):
        async with program(db.dsn, report(text)):
            assert (await schedules(db))["report"]["text"] == text


async def test_force_and_versions_say_which_is_wanted(db: Database, deploy: Deploy) -> None:
    old, new = program(db.dsn, report(NINE)), program(db.dsn, report(TEN))
    await deploy.start(old, version=1)
    await deploy.start(new, version=2)
    waiting, _ = await deploy.start(old, version=1)
    assert await deploy.text() == TEN
    assert (await waiting.declare(force=True)).in_force
    assert await deploy.text() == NINE
    # The same code as the old one again, as a newer version: a change that was undone in the code.
    await deploy.start(new, version=3)
    assert await deploy.text() == TEN
    await deploy.start(old, version=4)
    assert await deploy.text() == NINE


async def test_many_processes_start_at_once(db: Database, deploy: Deploy) -> None:
    code = [report("1h", f"s{n}") for n in range(20)]
    await asyncio.gather(*(deploy.start(program(db.dsn, *code)) for _ in range(5)))
    found = await schedules(db)
    assert len(found) == 20
    assert {row["version"] for row in found.values()} == {1}


async def test_schedules_that_are_left_are_told_of(db: Database, deploy: Deploy) -> None:
    left: list[str] = []
    deploy.bus.subscribe(SchedulesLeft, lambda event: left.append(event.keys))
    await deploy.start(program(db.dsn, report(NINE), report("1h", "hourly")))
    await deploy.start(program(db.dsn, report(NINE)))
    assert left == ["hourly"]


async def test_a_new_version_of_the_same_code_is_known_as_such(
    db: Database, deploy: Deploy
) -> None:
    old, new = program(db.dsn, report(NINE)), program(db.dsn, report(TEN))
    await deploy.start(old, version=1)
    await deploy.start(old, version=3)
    await deploy.start(new, version=2)
    assert await deploy.text() == NINE


async def test_the_audit_trail_names_the_program_that_declares(
    db: Database, deploy: Deploy
) -> None:
    await deploy.run(report(NINE))
    await deploy.run(report(TEN))
    async with db.transaction() as tx:
        rows = await tx.fetch(
            "SELECT a.action, a.actor FROM audit a JOIN schedules s ON s.id = a.schedule_id"
            " WHERE s.key = 'report' ORDER BY a.id"
        )
        by = await tx.fetch_value("SELECT created_by FROM schedules WHERE key = 'report'")
    assert [tuple(row) for row in rows] == [("created", "code:billing"), ("edited", "code:billing")]
    assert by == "code:billing"
