"""The wall where Rota's user is no superuser, as on a managed PostgreSQL (S10).

A superuser is held by no policy at all; whoever owns the tables is, and must still see everything,
at the same price.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, LiteralString, cast

import pytest
from tests.db.logins import as_login, make_login
from tests.db.walls_kit import ROWS, inhabited

from rota.db import Database, driver, migrate
from rota.errors import MigrationError
from rota.firing import fire as firing
from rota.queue import claim, complete, external_claims, heartbeat, overlap, rescue
from rota.schedules import schedule_cache
from rota.timers import store as timers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.conftest import Postgres

HOT: dict[str, LiteralString] = {
    "the schedules of a pass": schedule_cache.LOAD,
    "lock timers": timers._LOCK,
    "lock live firings": overlap._LOCK_LIVE,
    "fire": firing._FIRE,
    "claim": claim.CLAIM,
    "pull": external_claims.PULL,
    "extend": heartbeat.EXTEND,
    "settle": complete.SETTLE,
    "rescue": rescue.RESCUE,
}


@pytest.fixture
async def owner(empty_dsn: str, empty_db: Database) -> AsyncGenerator[Database]:
    """As a plain role, to which all tables belong; `empty_db` is the same as a superuser."""
    await make_login(empty_db, "rota_test_owner", member=True)
    async with await Database.open(as_login(empty_dsn, "rota_test_owner")) as database:
        await migrate.apply(database)
        yield database


async def test_the_owner_sees_all_and_a_tenant_its_own(owner: Database) -> None:
    one, _ = await inhabited(owner)
    for table in ROWS:
        text = cast("LiteralString", f"SELECT count(*) FROM {table}")
        async with owner.transaction() as tx:
            assert await tx.fetch_value(text) == 2, table
        async with owner.transaction(tenant=one) as tx:
            assert await tx.fetch_value(text) == 1, table


async def test_a_dump_by_the_owner_wants_row_security_left_on(owner: Database) -> None:
    """As docs/decisions/row-security.md says: without it `pg_dump` stops, with it nothing lacks."""
    await inhabited(owner)
    async with owner.transaction() as tx:
        await tx.execute("SET LOCAL row_security = off")
        with pytest.raises(driver.ERRORS, match="would be affected by row-level security"):
            async with tx.savepoint():
                await tx.fetch("SELECT FROM schedules")
        await tx.execute("SET LOCAL row_security = on")
        assert await tx.fetch_value("SELECT count(DISTINCT tenant_id) FROM schedules") > 1


async def test_the_wall_costs_the_engine_nothing(owner: Database, empty_db: Database) -> None:
    """What every firing takes is planned as it would be without any policy."""
    for name, statement in HOT.items():
        plans = [await plan(db, statement) for db in (owner, empty_db)]
        assert plans[0] == plans[1], name
        assert len(plans[0]) > 1
        assert "'rota.tenant'" not in "".join(plans[0]), name


async def plan(db: Database, statement: LiteralString) -> list[str]:
    """How the statement is carried out, whatever its parameters."""
    async with db.transaction() as tx:
        await tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.execute("PREPARE hot AS " + statement)
        count: int = await tx.fetch_value(
            "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'hot'"
        )
        values = cast("LiteralString", ", ".join(["NULL"] * count))
        text = "EXPLAIN (VERBOSE, COSTS OFF) EXECUTE hot (" + values + ")"
        lines: list[str] = [row[0] for row in await tx.fetch(text)]
        await tx.execute("DEALLOCATE hot")
        return lines


async def test_a_user_who_may_not_make_the_role_is_told_what_to_ask_for(
    empty_dsn: str, empty_db: Database
) -> None:
    await make_login(empty_db, "rota_test_stranger", member=False)
    async with await Database.open(as_login(empty_dsn, "rota_test_stranger")) as db:
        with pytest.raises(MigrationError) as refused:
            await migrate.apply(db)
    assert "0009_row_security was refused: expected the role rota_tenant" in str(refused.value)
    assert "GRANT rota_tenant TO rota_test_stranger;" in str(refused.value)


async def test_many_databases_make_the_role_at_once(empty_dsn: str, postgres: Postgres) -> None:
    """Roles are the server's, so migrations of other databases make the same one."""
    [text] = [each.sql for each in migrate.known() if each.name == "row_security"]
    role = f"rota_race_{secrets.token_hex(4)}"
    block = text[text.index("DO $$") : text.index("END $$;") + 7].replace("rota_tenant", role)
    together = asyncio.Barrier(8)

    async def make() -> None:
        async with await Database.open(empty_dsn, pool_size=1) as db, db.transaction() as tx:
            await together.wait()
            await tx.execute(cast("LiteralString", block))

    try:
        await asyncio.gather(*(make() for _ in range(8)))
    finally:
        await postgres.order(f"DROP ROLE IF EXISTS {role}")
