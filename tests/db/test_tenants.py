"""Tenants and keys on a real database (S9, TR16)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from rota.clock import ManualClock
from rota.db import Database
from rota.errors import InvalidInput
from rota.tenants import keys, service
from rota.tenants.authenticate import TTL, Authenticator

if TYPE_CHECKING:
    from rota.db import Tx
    from rota.tenants.keys import ApiKey
    from rota.tenants.sql import StoredKey
    from rota.tenants.tenant import Scope, Tenant

GIVEN = "rota_admin_" + "s3cret" * 5


async def default(db: Database) -> Tenant:
    return await db.run(service.default_tenant)


async def make_key(
    db: Database, *scopes: Scope, expires_at: datetime | None = None
) -> tuple[Tenant, ApiKey]:
    tenant = await default(db)
    async with db.transaction() as tx:
        return tenant, await service.create_key(tx, tenant, scopes=scopes, expires_at=expires_at)


async def test_the_default_tenant_is_made_once_however_many_ask(db: Database) -> None:
    made = await asyncio.gather(*(default(db) for _ in range(8)))
    assert len({tenant.id for tenant in made}) == 1
    assert made[0].name == "default"
    assert made[0].min_interval == timedelta(seconds=60)


async def test_the_embedded_servers_default_tenant_may_fire_every_second(db: Database) -> None:
    async def make(tx: Tx) -> Tenant:
        return await service.default_tenant(tx, min_interval=timedelta(seconds=1))

    assert (await db.run(make)).min_interval == timedelta(seconds=1)
    assert (await default(db)).min_interval == timedelta(seconds=1)


async def test_the_first_admin_key_is_made_once_and_works(db: Database) -> None:
    await default(db)

    async def first(tx: Tx) -> str | None:
        return await service.first_admin_key(tx, None)

    made = await asyncio.gather(*(db.run(first) for _ in range(4)))
    (key,) = [text for text in made if text is not None]
    principal = await service.authenticate(db, key)
    assert principal is not None
    assert principal.may("admin")
    assert principal.tenant.name == "default"


async def test_an_operators_own_admin_key_is_taken_beside_others_and_again(db: Database) -> None:
    await make_key(db, "admin")
    async with db.transaction() as tx:
        assert await service.first_admin_key(tx, GIVEN) == GIVEN
    async with db.transaction() as tx:
        assert await service.first_admin_key(tx, GIVEN) is None
    principal = await service.authenticate(db, GIVEN)
    assert principal is not None
    assert principal.may("admin")


async def test_an_operators_own_key_that_is_at_odds_with_another_is_refused(db: Database) -> None:
    await default(db)
    async with db.transaction() as tx:
        await service.first_admin_key(tx, GIVEN)
    with pytest.raises(InvalidInput, match="another key with the prefix admin"):
        async with db.transaction() as tx:
            await service.first_admin_key(tx, GIVEN + "x")


async def test_only_a_hash_of_a_key_is_stored(db: Database) -> None:
    _, key = await make_key(db, "read")
    async with db.transaction() as tx:
        rows = await tx.fetch("SELECT api_keys::text FROM api_keys")
    assert len(rows) == 1
    assert key.secret not in rows[0][0]
    assert key.prefix in rows[0][0]


async def test_a_key_speaks_for_its_tenant_with_its_scopes(db: Database) -> None:
    tenant, key = await make_key(db, "read", "write")
    principal = await service.authenticate(db, key.text)
    assert principal is not None
    assert principal.tenant == tenant
    assert principal.scopes == {"read", "write"}


async def test_a_wrong_secret_an_unknown_prefix_and_no_key_at_all_are_refused(db: Database) -> None:
    _, key = await make_key(db, "read")
    for text in ("", "Bearer", f"rota_{key.prefix}_wrong", keys.new().text, key.text + "x"):
        assert await service.authenticate(db, text) is None
    # A stranger who knows the prefix must not have locked its owner out.
    assert await service.authenticate(db, key.text) is not None


async def test_an_expired_key_is_refused_even_while_it_is_remembered(db: Database) -> None:
    async with db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
    _, key = await make_key(db, "read", expires_at=now + timedelta(minutes=5))
    clock = ManualClock(datetime(2027, 1, 1, tzinfo=UTC))
    authenticator = Authenticator(db, clock=clock, ttl=timedelta(hours=1))
    assert await authenticator.authenticate(key.text) is not None
    await clock.advance(timedelta(minutes=5))
    assert await authenticator.authenticate(key.text) is None


async def test_a_revoked_key_is_refused_within_a_second_by_who_did_not_hear_of_it(
    db: Database, dsn: str
) -> None:
    tenant, key = await make_key(db, "read")
    clock = ManualClock(datetime(2027, 1, 1, tzinfo=UTC))
    authenticator = Authenticator(db, clock=clock)
    principal = await authenticator.authenticate(key.text)
    assert principal is not None
    async with await Database.open(dsn, pool_size=1) as other, other.transaction() as tx:
        assert principal.key_id is not None
        assert await service.revoke_key(tx, tenant, principal.key_id)
        assert not await service.revoke_key(tx, tenant, principal.key_id)
    assert await authenticator.authenticate(key.text) is not None
    assert timedelta(seconds=1) > TTL
    await clock.advance(TTL)
    assert await authenticator.authenticate(key.text) is None


async def test_a_revoked_key_is_refused_at_once_where_the_change_is_heard_of(db: Database) -> None:
    tenant, key = await make_key(db, "read")
    authenticator = Authenticator(db, clock=ManualClock(datetime(2027, 1, 1, tzinfo=UTC)))
    principal = await authenticator.authenticate(key.text)
    assert principal is not None
    assert principal.key_id is not None
    async with db.transaction() as tx:
        await service.revoke_key(tx, tenant, principal.key_id)
        # Nothing is changed yet; whoever looks now must not be believed after the commit.
        assert await authenticator.authenticate(key.text) is not None
    assert await authenticator.authenticate(key.text) is None


async def test_an_answer_that_was_under_way_while_its_key_was_revoked_is_not_kept(
    db: Database,
) -> None:
    tenant, key = await make_key(db, "read")
    authenticator = Authenticator(db, clock=ManualClock(datetime(2027, 1, 1, tzinfo=UTC)))
    looked, go_on = asyncio.Event(), asyncio.Event()
    look_up = authenticator._look_up

    async def slowly(key: ApiKey) -> StoredKey | None:
        found = await look_up(key)
        looked.set()
        await go_on.wait()
        return found

    authenticator._look_up = slowly
    asking = asyncio.create_task(authenticator.authenticate(key.text))
    await looked.wait()
    async with db.transaction() as tx:
        [info] = await service.list_keys(tx, tenant)
        await service.revoke_key(tx, tenant, info.id)
    go_on.set()
    assert await asking is not None
    assert await authenticator.authenticate(key.text) is None


async def test_a_new_key_is_heard_of_within_a_second_by_who_was_refused(
    db: Database, dsn: str
) -> None:
    tenant = await default(db)
    clock = ManualClock(datetime(2027, 1, 1, tzinfo=UTC))
    authenticator = Authenticator(db, clock=clock)
    assert await authenticator.authenticate(GIVEN) is None
    async with await Database.open(dsn, pool_size=1) as other, other.transaction() as tx:
        await service.first_admin_key(tx, GIVEN)
    assert await authenticator.authenticate(GIVEN) is None
    await clock.advance(TTL)
    found = await authenticator.authenticate(GIVEN)
    assert found is not None
    assert found.tenant == tenant


async def test_a_key_that_was_looked_up_is_not_asked_for_again_at_once(db: Database) -> None:
    _, key = await make_key(db, "read")
    authenticator = Authenticator(db, clock=ManualClock(datetime(2027, 1, 1, tzinfo=UTC)))
    first = await authenticator.authenticate(key.text)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM api_keys")
    assert await authenticator.authenticate(key.text) == first
    assert await authenticator.authenticate(f"rota_{key.prefix}_wrong") is None
    authenticator.forget()
    assert await authenticator.authenticate(key.text) is None


async def test_keys_are_listed_without_their_secrets_and_with_when_they_were_used(
    db: Database,
) -> None:
    tenant, key = await make_key(db, "write", "read")
    await service.authenticate(db, key.text)
    async with db.transaction() as tx:
        (shown,) = await service.list_keys(tx, tenant)
    assert (shown.prefix, shown.scopes) == (key.prefix, ("read", "write"))
    assert shown.last_used_at is not None
    assert key.secret not in repr(shown)


@pytest.mark.parametrize("scopes", [(), ("root",), ("read", "root")])
async def test_scopes_that_do_not_exist_are_refused(db: Database, scopes: tuple[Scope]) -> None:
    tenant = await default(db)
    with pytest.raises(InvalidInput, match="Invalid scopes"):
        async with db.transaction() as tx:
            await service.create_key(tx, tenant, scopes=scopes)
