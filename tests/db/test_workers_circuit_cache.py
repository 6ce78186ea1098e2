"""What a worker knows of hosts: what it tells, and what it keeps to itself."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.db.queue_support import database_now

from rota.clock import SystemClock
from rota.db import Database
from rota.errors import TemporaryError
from rota.events import Bus, Recorder
from rota.queue import circuits
from rota.queue.circuits import Called, Rules
from rota.workers.caller import Reply
from rota.workers.hosts.circuit_cache import CircuitCache
from rota.workers.hosts.events import CircuitClosed, CircuitOpened

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.circuits import Circuit
    from rota.workers.hosts.host_signal import Sign

HOST = "x.example"
TENANT, OTHER, THIRD = (UUID(int=n) for n in (1, 2, 3))
CALLED = Called(HOST, TENANT)
RULES = Rules(failures=3)
DOWN = Reply(code=503)


class Ear:
    """A worker's knowledge, and what it says of it."""

    def __init__(self, db: Database, now: datetime) -> None:
        bus = Bus()
        self.recorder = Recorder(bus)
        self.known = CircuitCache(db, RULES, bus=bus, clock=SystemClock())
        self.now = now

    def hear(self, *signs: Sign, tenant: UUID = TENANT, is_probe: bool = False) -> None:
        for sign in signs:
            called = Called(HOST, tenant)
            self.known.hear(called, sign, DOWN, is_probe=is_probe, now=self.now)


async def stored(db: Database) -> dict[Called, Circuit]:
    async with db.transaction() as tx:
        return await circuits.read(tx)


async def test_of_hosts_that_answer_nothing_is_told_and_nobody_is_asked(dsn: str) -> None:
    """The database is not even there."""
    async with await Database.open(dsn) as db:
        ear = Ear(db, await database_now(db))
    ear.hear("answered", "void", "answered")
    await ear.known.report()
    ear.hear("failed")
    with pytest.raises(Exception, match="pool"):
        await ear.known.report()


async def test_an_answer_is_told_of_a_host_that_is_known_to_have_failed(db: Database) -> None:
    now = await database_now(db)
    one, other = Ear(db, now), Ear(db, now)
    one.hear("failed", "failed")
    await one.known.report()
    # The other has heard answers all along, and learns that it should say so.
    other.hear("answered")
    await other.known.report()
    assert (await stored(db))[CALLED].failures == 2
    await other.known.refresh()
    other.hear("answered")
    await other.known.report()
    assert await stored(db) == other.known.circuits == {}


async def test_whoever_opens_or_closes_a_circuit_says_so_and_nobody_else(db: Database) -> None:
    now = await database_now(db)
    one, other = Ear(db, now), Ear(db, now)
    one.hear("failed", "failed", "failed")
    await one.known.report()
    other.hear("failed")
    await other.known.report()
    (opened,) = one.recorder.all(CircuitOpened)
    assert (opened.host, opened.failures) == (HOST, 3)
    assert other.recorder.all(CircuitOpened) == []
    assert other.known.circuits[CALLED].open_until == opened.until
    other.hear("answered", is_probe=True)
    await other.known.report()
    (closed,) = other.recorder.all(CircuitClosed)
    assert (closed.host, closed.failures) == (HOST, 4)
    await one.known.refresh()
    assert one.known.circuits == {}
    assert one.recorder.all(CircuitClosed) == []


async def test_what_could_not_be_told_is_told_with_what_comes_after_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = Ear(db, await database_now(db))

    async def away(*_: object) -> None:
        raise TemporaryError("the database is away")

    ear.hear("failed", "failed")
    with monkeypatch.context() as patched:
        patched.setattr(circuits, "report", away)
        with pytest.raises(TemporaryError):
            await ear.known.report()
        ear.hear("answered", "failed")
        with pytest.raises(TemporaryError):
            await ear.known.report()
    ear.hear("failed")
    await ear.known.report()
    # Two, an answer, and two more.
    assert (await stored(db))[CALLED].failures == 2


async def test_what_two_tenants_see_closes_a_host_to_all_until_it_answers_one(
    db: Database,
) -> None:
    now = await database_now(db)
    one, other = Ear(db, now), Ear(db, now)
    one.hear("failed", "failed", "failed")
    await one.known.report()
    assert one.known.wide == {}
    other.hear("failed", "failed", "failed", tenant=OTHER)
    await other.known.report()
    await one.known.refresh()
    await other.known.refresh()
    assert set(one.known.wide) == set(other.known.wide) == {HOST}
    # A call that was under way for a third tenant is answered: the host works.
    one.hear("answered", tenant=THIRD)
    await one.known.report()
    assert one.known.wide == {}
    assert {each.reach for each in (await stored(db)).values()} == {"tenant"}
    await other.known.refresh()
    assert other.known.wide == {}
    # Which is told once, not with every answer.
    assert not one.known._is_news(Called(HOST, THIRD))  # pyright: ignore[reportPrivateUsage]


async def test_with_circuits_turned_off_nothing_is_counted(db: Database) -> None:
    bus = Bus()
    known = CircuitCache(db, Rules(failures=0), bus=bus, clock=SystemClock())
    now = await database_now(db)
    for _ in range(20):
        known.hear(CALLED, "failed", DOWN, is_probe=False, now=now + timedelta())
    await known.report()
    assert await stored(db) == {}
