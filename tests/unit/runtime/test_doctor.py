"""How the doctor judges what it reads of the engine."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from rota.history.depth import BOUND, Depth
from rota.leases.standing import NodeStanding, ShardStanding
from rota.queue.circuits import Circuit, Shown
from rota.runtime import doctor

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TODAY = date(2026, 6, 1)
HOUR = timedelta(hours=1)


def node(*roles: str, alive: bool = True) -> NodeStanding:
    return NodeStanding(
        id=uuid4(),
        roles=roles,
        host="a",
        pid=1,
        version="1",
        started_at=NOON,
        seen_at=NOON,
        is_alive=alive,
    )


def shards(*held: bool) -> list[ShardStanding]:
    return [
        ShardStanding(shard=n, holder=None, fence=0, leased_until=None, is_held=each)
        for n, each in enumerate(held)
    ]


def host(name: str, *, open_until: datetime | None = None) -> Shown:
    circuit = Circuit(host=name, tenant_id=UUID(int=1), failures=3, open_until=open_until)
    return Shown(circuit=circuit, tenant=None, last_error=None, changed_at=NOON, seen_at=NOON)


BOTH = [node("scheduler", "worker")]


@pytest.mark.parametrize(
    ("nodes", "ok", "words"),
    [
        ([], None, "none is running"),
        ([node("worker", alive=False)], None, "none is running"),
        (BOTH, True, "1 alive"),
        ([node("scheduler"), node("worker")], True, "2 alive"),
        ([*BOTH, node("worker", alive=False)], True, "1 alive, 1 gone without leaving"),
        ([node("scheduler")], False, "1 alive, no worker"),
        ([node("api")], False, "1 alive, no scheduler and no worker"),
        ([node("worker"), node("scheduler", alive=False)], False, "no scheduler"),
    ],
)
def test_somebody_must_run(nodes: list[NodeStanding], ok: bool | None, words: str) -> None:
    check = doctor.running(nodes)
    assert check.ok is ok
    assert words in check.found
    assert bool(check.advice) == (ok is not True)


def test_shards_without_a_holder_are_wrong_only_when_somebody_could_hold_them() -> None:
    assert doctor.leases(shards(True, True), BOTH).ok is True
    free = doctor.leases(shards(True, False), BOTH)
    assert (free.ok, free.found) == (False, "1 of 2 shards are held by nobody")
    assert "election_failed" in free.advice
    nobody = doctor.leases(shards(False, False), [node("worker")])
    assert nobody.ok is None
    assert "rota serve" in nobody.advice


@pytest.mark.parametrize(
    ("late", "ok", "words"),
    [
        (timedelta(), True, "none due late"),
        (timedelta(seconds=30), True, "late by 30s"),
        (timedelta(minutes=61), False, "late by 1h1m"),
    ],
)
def test_timers_that_nobody_fires_are_wrong(late: timedelta, ok: bool, words: str) -> None:
    """MF7, F13."""
    check = doctor.overdue({3: timedelta(), 7: late}, BOTH)
    assert check.ok is ok
    assert words in check.found


def test_advice_on_late_timers_depends_on_who_runs() -> None:
    assert doctor.overdue({}, []).ok is True
    assert "more schedulers" in doctor.overdue({0: HOUR}, BOTH).advice
    assert "start a scheduler" in doctor.overdue({0: HOUR}, []).advice


def test_a_queue_that_waits_is_a_warning_with_workers_and_wrong_without() -> None:
    assert doctor.queue(Depth(3, timedelta(seconds=5)), []).ok is True
    slow = doctor.queue(Depth(BOUND, HOUR), BOTH)
    assert (slow.ok, slow.found) == (None, "100,000+ in it, the oldest is late by 1h")
    assert doctor.queue(Depth(1, HOUR), [node("scheduler")]).ok is False


@pytest.mark.parametrize(
    ("ahead", "ok", "words"),
    [
        (range(-1, 8), True, "7 days ahead"),
        (range(-1, 4), True, "3 days ahead"),
        (range(-1, 2), None, "1 days ahead"),
        ([0, 1, 3, 4, 5], None, "1 days ahead"),
        (range(-30, 0), None, "none for today"),
        ([], True, "none yet"),
    ],
)
def test_partitions_must_be_ahead(ahead: list[int], ok: bool | None, words: str) -> None:
    """DM9."""
    check = doctor.partitions({TODAY + timedelta(days=n) for n in ahead}, TODAY)
    assert check.ok is ok
    assert words in check.found


def test_hosts_that_are_left_alone_are_named() -> None:
    """HX5."""
    assert doctor.circuits_open([host("shaky")]).ok is True
    down = [host(f"h{n}", open_until=NOON + HOUR) for n in range(5)]
    check = doctor.circuits_open([host("shaky"), *down])
    assert (check.ok, check.found) == (None, "5 open: h0, h1, h2 and 2 more")
