"""Fast completion of tasks: one row tells of the firing and of its attempt."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.db.queue_support import (
    ATTEMPTS,
    SECOND,
    attempt_rows,
    ended,
    firing_rows,
    queue_rows,
    some_worker,
    take,
)
from tests.db.tasks_kit import ask, declare

from rota.history import queries
from rota.queue import complete_fast
from rota.queue.complete import AttemptRecord, settle

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Row
    from rota.queue.claim import Claim
    from rota.queue.complete import Settled, Settlement

LANES = ("default",)


def told(row: Row) -> dict[str, Any]:
    varies = ("firing_id", "scheduled_for", "started_at", "finished_at")
    return {name: value for name, value in row.items() if name not in varies}


async def claims(db: Database, me: UUID, *payloads: bytes | None) -> list[Claim]:
    await declare(db)
    for each in payloads:
        await ask(db, payload=each)
    return await take(db, me, lanes=LANES)


async def test_it_tells_of_its_attempt_as_a_row_of_its_own_would(db: Database) -> None:
    """GET …/attempts shows the same, whichever way it was recorded."""
    me = some_worker()
    batch = await claims(db, me, b'{"args":[1]}', b'{"args":[1]}', None, None)
    kept: dict[str, Any] = {"response_body": b"[7]", "response_headers": "[]"}
    plain = [
        ended(batch[0], tried=AttemptRecord(outcome="succeeded", task="t", **kept), excerpt="[7]"),
        ended(batch[2], tried=AttemptRecord(outcome="succeeded", task="t")),
    ]
    shown = '{"task":"t","payload":{"args":[1]}}'
    stored = [
        ended(
            batch[1], tried=AttemptRecord(outcome="succeeded", request=shown, **kept), excerpt="[7]"
        ),
        ended(
            batch[3],
            tried=AttemptRecord(outcome="succeeded", request='{"task":"t","payload":null}'),
        ),
    ]
    async with db.transaction() as tx:
        settled = await settle(tx, me, [*plain, *stored])
        assert settled.accepted == {each.id for each in batch}
        assert await tx.fetch_value("SELECT count(*) FROM attempts") == 2
    rows = {row["firing_id"]: row for row in await attempt_rows(db)}
    for one, other in zip(plain, stored, strict=True):
        assert told(rows[one.claim.id]) == told(rows[other.claim.id])
    firings = await firing_rows(db)
    assert firings[batch[0].id]["result_excerpt"] == "[7]"
    assert firings[batch[0].id]["due_at"] == batch[0].available_at
    async with db.transaction() as tx:
        firing = await queries.find(tx, batch[0].id)
        assert firing is not None
        (attempt,) = await queries.attempts(tx, firing)
    assert (attempt.worker, attempt.outcome, attempt.response_body) == (me, "succeeded", b"[7]")


async def test_each_row_gets_its_own_times_and_results(db: Database) -> None:
    me = some_worker()
    batch = await claims(db, me, *[None] * 200)
    settlements = [
        ended(
            each,
            started_at=each.available_at + at * SECOND,
            finished_at=each.available_at + at * 2 * SECOND,
            tried=AttemptRecord(
                outcome="succeeded",
                task=f"t{at % 3}" if at % 4 else None,
                response_body=b"%d" % at if at % 2 else None,
                response_headers="[]" if at % 2 else None,
            ),
            excerpt=str(at) if at % 2 else None,
        )
        for at, each in enumerate(batch)
    ]
    async with db.transaction() as tx:
        await settle(tx, me, settlements[::-1])
    rows = await firing_rows(db)
    assert await queue_rows(db) == {}
    for at, each in enumerate(batch):
        row = rows[each.id]
        assert row["started_at"] == each.available_at + at * SECOND
        assert row["finished_at"] == each.available_at + at * 2 * SECOND
        assert row["task"] == (f"t{at % 3}" if at % 4 else None)
        assert row["result"] == (b"%d" % at if at % 2 else None)
        assert (row["status"], row["attempt"], row["worker"]) == ("succeeded", 1, me)


async def test_a_stale_one_is_refused_and_one_recorded_twice_is_known(db: Database) -> None:
    me = some_worker()
    mine, lost = await claims(db, me, None, None)
    batch = [
        ended(each, tried=AttemptRecord(outcome="succeeded", task="t")) for each in (mine, lost)
    ]
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET worker = $1 WHERE id = $2", some_worker(), lost.id)
    for _ in range(2):
        async with db.transaction() as tx:
            assert (await settle(tx, me, batch)).accepted == {mine.id}
    assert list(await firing_rows(db)) == [mine.id]
    assert list(await queue_rows(db)) == [lost.id]


class _Undone(Exception):
    """Nothing of the transaction is to stay."""


class Outcome(NamedTuple):
    """All that a batch of settlements leaves behind."""

    settled: Settled
    firings: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    queue: list[dict[str, Any]]


# Where the fast way stores what is in `attempts` otherwise; and what only the clock knows, of those
# that are freed or follow.
_APART = {"worker", "task", "result", "available_at"}


def _shared(rows: list[Row]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in _APART} for row in rows]


async def outcome_of(db: Database, me: UUID, batch: list[Settlement]) -> Outcome:
    """What would come of it; nothing is kept."""
    found: list[Outcome] = []
    with contextlib.suppress(_Undone):
        async with db.transaction() as tx:
            settled = await settle(tx, me, batch)
            firings = await tx.fetch("SELECT * FROM firings ORDER BY id")
            queue = await tx.fetch("SELECT * FROM queue ORDER BY id")
            attempts = [dict(row.items()) for row in await tx.fetch(ATTEMPTS)]
            found.append(Outcome(settled, _shared(firings), attempts, _shared(queue)))
            raise _Undone
    return found[0]


def success(each: Claim, luck: random.Random) -> Settlement:
    """An end that can be recorded fast, and is like no other."""
    result = luck.choice([None, b"null", b"[7]", "öé".encode() * luck.randrange(1, 50)])
    tried = AttemptRecord(
        outcome="succeeded",
        task=luck.choice(["t", "u", None]),
        response_body=result,
        response_headers=None if result is None else "[]",
    )
    return ended(
        each,
        started_at=each.available_at + luck.random() * SECOND,
        finished_at=each.available_at + (1 + luck.random()) * SECOND,
        tried=tried,
        excerpt=luck.choice([None, "short", "x" * 300]),
        result=result,
    )


def none_fast(batch: list[Settlement]) -> tuple[list[Settlement], list[Settlement]]:
    """As `complete_fast.split`, if nothing could be completed fast."""
    return [], batch


@pytest.mark.parametrize("seed", range(3))
async def test_it_leaves_behind_what_complete_would(
    db: Database, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The property that permits the fast way: with blocked ones, followers and stale claims."""
    luck, me = random.Random(seed), some_worker()
    await declare(db)
    await declare(db, "u")
    await declare(db, "follower", after="task:t", on_demand=None)
    payloads = [None, b"null", b"[]", b'{"a": {"b": "\\u00e9"}}']
    for _ in range(60):
        await ask(db, luck.choice("tu"), payload=luck.choice(payloads))
    claimed = await take(db, me, lanes=LANES)
    blocked = await ask(db)
    batch = [success(each, luck) for each in claimed]
    luck.shuffle(batch)
    assert all(complete_fast.is_fast(each) for each in batch)
    stale = [each.claim.id for each in batch[:5]]
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET worker = $1 WHERE id = ANY ($2)", some_worker(), stale)
        await tx.execute("UPDATE queue SET state = 'blocked' WHERE id = $1", blocked)
    fast = await outcome_of(db, me, batch)
    monkeypatch.setattr(complete_fast, "split", none_fast)
    slow = await outcome_of(db, me, batch)
    assert fast == slow
    assert len(fast.settled.accepted) == len(batch) - 5
    assert any(row["triggered_by"] == "after" for row in fast.queue)
    assert {row["state"] for row in fast.queue if row["id"] == blocked} == {"waiting"}
