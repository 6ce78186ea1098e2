"""The doctor of the engine's tables, on a real database."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString, cast
from uuid import UUID

import pytest
from tests.db.logins import as_login, make_login
from tests.db.queue_support import fire, make_schedule

from rota import config as configuration
from rota.db import Database, driver, migrate
from rota.db.doctor import may_act
from rota.history import retention
from rota.leases import Node
from rota.leases import sql as leases_sql
from rota.runtime import doctor
from rota.tenants import service as tenants
from rota.tenants.secrets import Rings, Vault, ring
from rota.tenants.secrets.masked import Masked

if TYPE_CHECKING:
    from rota.config import Config
    from rota.db.doctor import Check

OLD, NEW = ring.new_entry("k1"), ring.new_entry("k2")


def config(db: Database, **settings: str) -> Config:
    return configuration.read({"dsn": db.dsn, **settings}, file=None)


async def found(db: Database, **settings: str) -> dict[str, Check]:
    return {each.name: each for each in await doctor.checks(db, config(db, **settings))}


async def seal(db: Database, entry: str) -> None:
    """A secret, under this key."""
    vault = Vault(Rings.fixed(ring.parse(entry, where="test")))
    async with db.transaction() as tx:
        owner = await tenants.default_tenant(tx)
        await vault.put(tx, owner.id, "API_KEY", Masked("value"))


async def test_a_database_that_nobody_has_served_is_no_fault(db: Database) -> None:
    checks = await found(db)
    assert [name for name, each in checks.items() if each.ok is False] == []
    assert checks["nodes"].ok is None
    assert checks["leases"].ok is None
    assert checks["partitions"].found.startswith("none yet")


async def test_a_login_that_may_not_act_for_tenants_is_told_what_to_do(
    empty_dsn: str, empty_db: Database
) -> None:
    """S10: as after a restore into a server where nobody granted the role."""
    await make_login(empty_db, "rota_test_doctor", member=True)
    async with await Database.open(as_login(empty_dsn, "rota_test_doctor")) as db:
        await migrate.apply(db)
        assert (await found(db))["tenant role"].ok is True
        async with empty_db.transaction() as tx:
            await tx.execute("REVOKE rota_tenant FROM rota_test_doctor")
        check = (await found(db))["tenant role"]
        assert check.ok is False
        assert check.found.startswith("rota_test_doctor may not act as rota_tenant")
        with pytest.raises(driver.ERRORS, match="permission denied"):
            async with db.transaction(tenant=UUID(int=1)) as tx:
                await tx.fetch_value("SELECT 1")
        async with empty_db.transaction() as tx:
            # What it says helps.
            statement = check.advice.removeprefix("as an administrator: ")
            await tx.execute(cast("LiteralString", statement))
        assert (await found(db))["tenant role"].ok is True


def test_a_server_without_the_role_is_told_how_to_make_it() -> None:
    check = may_act("rota", there=False, may_act=False)
    assert (check.ok, "no role rota_tenant" in check.found) == (False, True)
    assert "CREATE ROLE rota_tenant NOLOGIN; GRANT rota_tenant TO rota;" in check.advice


async def test_a_scheduler_without_its_shards_is_one(db: Database) -> None:
    """LE2: leases without a holder."""
    node = Node.start(["scheduler", "worker"])
    await leases_sql.beat(db, node)
    (grant,) = await leases_sql.take(
        db, node, 1, known=(), ttl=timedelta(minutes=1), grace=timedelta(seconds=1)
    )
    async with db.transaction() as tx:
        total: int = await tx.fetch_value("SELECT count(*) FROM leases")
    checks = await found(db)
    assert checks["nodes"].ok is True
    assert checks["leases"].ok is False
    assert checks["leases"].found == f"{total - 1} of {total} shards are held by nobody"
    assert grant.shard == 0


async def test_partitions_are_counted_by_the_day_of_the_database(db: Database) -> None:
    """DM9."""
    async with db.transaction() as tx:
        today = await tx.fetch_value("SELECT (now() AT TIME ZONE 'UTC')::date")
        await retention.ensure(tx, today, days_ahead=2)
    check = (await found(db))["partitions"]
    assert (check.ok, check.found) == (None, "2 days ahead")
    assert check.advice


async def test_what_is_late_with_nobody_to_do_it_is_a_fault(db: Database) -> None:
    """F13: timers that nobody fires, firings that nobody runs."""
    schedule = await make_schedule(db)
    await fire(db, schedule)
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET available_at = now() - interval '2 min'")
        await tx.execute(
            """INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
               SELECT id, shard, now(), now() - interval '1 h', 1 FROM schedules
                   ON CONFLICT (schedule_id) DO UPDATE SET due_at = excluded.due_at"""
        )
    checks = await found(db)
    assert (checks["timers"].ok, checks["queue"].ok) == (False, False)
    assert "late by 1h" in checks["timers"].found
    assert "late by 2m" in checks["queue"].found
    assert "rota serve" in checks["timers"].advice
    assert "rota serve --role worker" in checks["queue"].advice


async def test_no_ring_is_a_warning_until_something_is_sealed(db: Database) -> None:
    check = (await found(db))["secret keys"]
    assert check.ok is None
    assert "ROTA_SECRET_KEYS" in check.advice
    await seal(db, OLD)
    check = (await found(db))["secret keys"]
    assert check.ok is False
    assert "no key ring" in check.found


@pytest.mark.parametrize(
    ("keys", "ok"),
    [
        pytest.param(OLD, True, id="the same"),
        pytest.param(f"{NEW},{OLD}", True, id="a new one before it"),
        pytest.param(NEW, False, id="another"),
        pytest.param(NEW.replace("k2", "k1"), False, id="another of the same id"),
    ],
)
async def test_the_ring_must_open_what_was_sealed(db: Database, keys: str, ok: bool) -> None:
    """S18: a ring that lacks a key, or has another of the same id, is found before it matters."""
    await seal(db, OLD)
    check = (await found(db, secret_keys=keys))["secret keys"]
    assert check.ok is ok
    assert bool(check.advice) is not ok
    for entry in (OLD, NEW):
        assert entry.partition(":")[2] not in check.found + check.advice
