"""F8: a target takes requests and does not answer."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.cluster.nodes import cluster, eventually
from tests.cluster.sink import sink
from tests.deadlines import Strain
from tests.failures.scenes import SECOND, attempts, calls, ended
from tests.failures.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office

    from rota.db import Database, Row


TIMEOUT = 0.6 * SECOND
SLACK = SECOND


async def test_slow_target(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F8, HX2: the timeout ends the attempt, as a failure; calls to others are not held up."""
    target.answering.clear()
    async with sink(Target("")) as healthy, cluster(tmp_path, dsn) as nodes:
        await nodes.start("worker")
        rules: dict[str, Any] = {
            "timeout_seconds": TIMEOUT / SECOND,
            "max_attempts": 2,
            "backoff_delay": 0,
        }
        slow = await calls(office, target, "slow", **rules)
        quick = await calls(office, healthy, "quick")
        strain = Strain()
        run = await office.trigger(slow)
        await target.received(slow.id)
        await office.trigger(quick)
        await healthy.received(quick.id)
        in_time = len(target.receipts) == 1 or strain.seconds * SECOND > TIMEOUT / 2
        assert in_time, "the healthy one waited for the slow one"
        (firing,) = await ended(db, slow)
        strained = strain.seconds * SECOND
        tries = await attempts(db, run.id)
    assert (firing["status"], firing["attempt"]) == ("dead", 2)
    assert [row["outcome"] for row in tries] == ["timed_out", "timed_out"]
    for row in tries:
        took = row["finished_at"] - row["started_at"]
        # Measured by another clock than the one that waited.
        assert TIMEOUT - 0.02 * SECOND <= took < TIMEOUT + SLACK + strained, took
    assert [each.attempt for each in target.receipts] == [1, 2]


async def test_a_host_that_keeps_failing_is_left_alone_until_it_answers(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """The circuit opens, postponed firings use no attempt, and one probe closes it."""
    target.answering.clear()
    settings = {"ROTA_CIRCUIT_FAILURES": "3", "ROTA_CIRCUIT_INTERVAL": "2s"}
    async with cluster(tmp_path, dsn, **settings) as nodes:
        await nodes.start("worker")
        rules: dict[str, Any] = {"timeout_seconds": 0.3, "max_attempts": 25, "backoff_delay": 0}
        broken = await calls(office, target, "broken", **rules)
        run = await office.trigger(broken)
        circuit = await _circuit(db, is_open=True)
        assert circuit["failures"] >= 3
        tried = len(target.receipts)
        # One that began before the circuit opened is no probe: its answer would not close it.
        await _postponed(db, circuit)
        target.answering.set()
        (firing,) = await ended(db, broken)
        tries = await attempts(db, run.id)
        await _circuit(db, is_open=False)
    assert firing["status"] == "succeeded"
    assert tried <= circuit["failures"]
    # The first one after the circuit opened was a probe, and no attempt was used up by waiting.
    probe = tries[-1]
    assert probe["started_at"] >= circuit["open_until"]
    assert firing["attempt"] == len(tries)
    # On a starved machine an attempt may time out before its request has arrived.
    assert len(target.receipts) <= len(tries)


async def _postponed(db: Database, circuit: Row) -> None:
    """The only firing waits for the circuit."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_value(
                """SELECT EXISTS (SELECT FROM queue
                                   WHERE worker IS NULL AND available_at > $1)""",
                circuit["opened_at"] + timedelta(seconds=1),
            )

    await eventually(look)


async def _circuit(db: Database, *, is_open: bool) -> Row:
    """The circuit of the only host, once it is so; an answer makes it whole."""

    async def look() -> Row | None:
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_row(
                """SELECT c.* FROM (SELECT 1) AS one LEFT JOIN circuits c ON true
                    WHERE (c.open_until IS NOT NULL) = $1""",
                is_open,
            )

    return await eventually(look)
