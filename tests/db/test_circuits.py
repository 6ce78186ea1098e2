"""What all workers together know of a host that fails for a tenant."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.db.queue_support import SECOND, database_now
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.db import Listener
from rota.queue import circuits
from rota.queue.circuits import CHANNEL, Called, Circuit, Heard, Rules
from rota.workers.hosts.circuit import after, keep_to_tenant

if TYPE_CHECKING:
    from rota.db import Database
    from rota.queue.circuits import Asked, Probe, Told

HOST = "x.example"
RULES = Rules(failures=3, interval=30 * SECOND)
MILLISECOND = timedelta(milliseconds=1)


TENANT, OTHER = UUID(int=1), UUID(int=2)
CALLED = Called(HOST, TENANT)


async def tell(
    db: Database, host: str = HOST, rules: Rules = RULES, tenant: UUID = TENANT, **heard: object
) -> Told:
    called = Called(host, tenant)
    async with db.transaction() as tx:
        told = await circuits.report(tx, {called: Heard(**heard)}, rules)  # pyright: ignore[reportArgumentType]
    return told[called]


async def ask(db: Database, patience: timedelta = 10 * SECOND) -> Asked | None:
    async with db.transaction() as tx:
        return (await circuits.ask_probe(tx, {CALLED: patience})).get(CALLED)


async def known(db: Database) -> dict[Called, Circuit]:
    async with db.transaction() as tx:
        return await circuits.read(tx)


async def half_open(db: Database) -> None:
    await tell(db, failures=3, rules=replace(RULES, interval=MILLISECOND))
    await SystemClock().sleep(2 * MILLISECOND)


async def test_failures_of_all_workers_add_up_and_open_it_once(db: Database) -> None:
    """Twenty report at the same time: nothing is lost, and one of them has opened it."""
    rules = Rules(failures=15)
    told = await asyncio.gather(*(tell(db, rules=rules, failures=1) for _ in range(20)))
    assert sum(each.opened for each in told) == 1
    circuit = (await known(db))[CALLED]
    assert (circuit.failures, circuit.trips) == (20, 1)
    assert circuit.opened_at is not None
    assert circuit.open_until == circuit.opened_at + 30 * SECOND


async def test_reports_of_many_hosts_in_whatever_order_do_not_wait_for_each_other(
    db: Database,
) -> None:
    hosts = [f"{n}.example" for n in range(20)]

    async def report(number: int) -> None:
        mixed = random.Random(number).sample(hosts, len(hosts))
        async with db.transaction() as tx:
            heard = {Called(host, TENANT): Heard(failures=1) for host in mixed}
            await circuits.report(tx, heard, Rules(failures=100))

    await asyncio.gather(*(report(number) for number in range(10)))
    assert {each.failures for each in (await known(db)).values()} == {10}


async def test_an_answer_takes_the_row_away_and_writes_nothing_where_there_is_none(
    db: Database,
) -> None:
    await tell(db, failures=2)
    told = await tell(db, answered=True)
    assert (told.circuit, told.closed) == (None, False)
    async with db.transaction() as tx:
        assert await circuits.report(tx, {CALLED: Heard(answered=True)}, RULES) == {}
    assert await known(db) == {}


async def test_of_all_who_ask_at_once_exactly_one_has_the_probe(db: Database) -> None:
    await half_open(db)
    asked = await asyncio.gather(*(ask(db) for _ in range(20)))
    assert sum(each is not None and each.granted for each in asked) == 1
    circuit = (await known(db))[CALLED]
    assert circuit.probe_until is not None
    assert circuit.probe_until > await database_now(db) + 5 * SECOND


async def test_nobody_has_the_probe_of_a_circuit_that_is_open_or_closed(db: Database) -> None:
    assert await ask(db) is None
    await tell(db, failures=3)
    asked = await ask(db)
    assert asked is not None
    assert not asked.granted


async def test_a_prober_that_is_never_heard_of_again_is_followed_by_another(db: Database) -> None:
    await half_open(db)
    first = await ask(db, patience=MILLISECOND)
    await SystemClock().sleep(2 * MILLISECOND)
    second = await ask(db)
    third = await ask(db)
    granted = [each is not None and each.granted for each in (first, second, third)]
    assert granted == [True, True, False]


async def test_a_probe_that_was_broken_off_is_given_to_the_next(db: Database) -> None:
    await half_open(db)
    await ask(db)
    await tell(db, probe="void")
    again = await ask(db)
    assert again is not None
    assert again.granted


async def test_workers_are_told_when_it_opens_closes_and_is_reset(db: Database) -> None:
    async with Listener(db.dsn, [CHANNEL]) as listener:
        news = listener.subscribe(CHANNEL)
        await news.wait(patience(10) * SECOND)
        await tell(db, failures=2)
        await tell(db, "other.example", failures=3)
        heard = await news.wait(patience(10) * SECOND)
        # Two failures are no news; the three of another host are.
        assert {each.payload for each in heard.notices} == {"other.example"}
        await half_open(db)
        await news.wait(patience(10) * SECOND)
        await tell(db, answered=True, probe="answered")
        assert {each.payload for each in (await news.wait(patience(10) * SECOND)).notices} == {HOST}
        async with db.transaction() as tx:
            assert await circuits.reset(tx, "other.example")
            assert not await circuits.reset(tx, "other.example")
        assert {each.payload for each in (await news.wait(patience(10) * SECOND)).notices} == {
            "other.example"
        }
    assert await known(db) == {}


async def test_what_nobody_has_called_for_an_hour_is_forgotten(db: Database) -> None:
    for host in ("old.example", "new.example", "rests.example"):
        await tell(db, host, failures=3)
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE circuits SET changed_at = now() - interval '2 hours',"
            " open_until = CASE WHEN host = 'old.example' THEN changed_at - interval '2 hours'"
            " ELSE open_until END WHERE host <> 'new.example'"
        )
        await circuits.forget_old(tx)
    assert {each.host for each in await known(db)} == {"new.example", "rests.example"}


async def test_failures_count_for_each_tenant_alone(db: Database) -> None:
    told = await tell(db, failures=3)
    assert told.opened
    theirs = await tell(db, failures=2, tenant=OTHER)
    assert not theirs.opened
    await tell(db, answered=True, tenant=OTHER)
    assert set(await known(db)) == {CALLED}
    async with db.transaction() as tx:
        assert await circuits.ask_probe(tx, {Called(HOST, OTHER): SECOND}) == {}


async def test_an_answer_for_one_tenant_keeps_the_failures_of_others_to_themselves(
    db: Database,
) -> None:
    await tell(db, failures=3, shared=3, refused=3)
    before = (await known(db))[CALLED]
    assert before.reach == "host"
    async with Listener(db.dsn, [CHANNEL]) as listener:
        news = listener.subscribe(CHANNEL)
        await news.wait(patience(10) * SECOND)
        async with db.transaction() as tx:
            # Its own answers say nothing of what others have seen.
            assert await circuits.keep_to_tenants(tx, [CALLED]) == []
            assert await circuits.keep_to_tenants(tx, [Called("y.example", OTHER)]) == []
            assert await circuits.keep_to_tenants(tx, [Called(HOST, OTHER)]) == [CALLED]
            assert await circuits.keep_to_tenants(tx, [Called(HOST, OTHER)]) == []
        assert {each.payload for each in (await news.wait(patience(10) * SECOND)).notices} == {HOST}
    assert (await known(db))[CALLED] == keep_to_tenant(before)


PROBES: list[Probe | None] = [None, None, "answered", "failed", "void"]


def _heard(chance: random.Random) -> Heard:
    failures = chance.randrange(3)
    shared = chance.randint(0, failures)
    return Heard(
        answered=chance.random() < 0.3,
        failures=failures,
        shared=shared,
        refused=chance.randint(0, shared),
        probe=chance.choice(PROBES),
        retry_after=chance.choice([timedelta(), 45 * SECOND, timedelta(days=1)]),
    )


@pytest.mark.parametrize("seed", range(8))
async def test_the_rows_go_the_way_of_the_pure_machine(db: Database, seed: int) -> None:
    """Whatever is heard, in whatever order, and however long after."""
    chance = random.Random(seed)
    model: Circuit | None = None
    for _ in range(60):
        await _let_time_pass(db, chance.choice([0, 0, 20, 700]) * SECOND)
        model = (await known(db)).get(CALLED)
        heard = _heard(chance)
        told = await _told(db, heard)
        before = model or (
            Circuit(host=HOST, tenant_id=TENANT, failures=0) if heard.failures else None
        )
        if before is None:
            assert told is None
            continue
        assert told is not None
        now = await _changed_at(db) or await database_now(db)
        expected = after(before, heard, now, RULES)
        assert told.circuit == expected
        assert (await known(db)).get(CALLED) == expected
        assert told.opened == (expected is not None and expected.trips > before.trips)
        assert told.closed == (expected is None and before.open_until is not None)


async def _told(db: Database, heard: Heard) -> Told | None:
    async with db.transaction() as tx:
        return (await circuits.report(tx, {CALLED: heard}, RULES)).get(CALLED)


async def _let_time_pass(db: Database, passed: timedelta) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE circuits SET opened_at = opened_at - $1::interval,"
            " open_until = open_until - $1::interval, probe_until = probe_until - $1::interval",
            passed,
        )


async def _changed_at(db: Database) -> datetime | None:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT changed_at FROM circuits WHERE host = $1", HOST)
