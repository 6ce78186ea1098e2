"""`/metrics`: what is counted, how the installation stands, and that nothing of a tenant shows."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.db.queue_support import fire, make_schedule, take
from tests.db.watch_kit import make_channel

from rota.clock import SystemClock
from rota.config import load
from rota.db import Database
from rota.events import Bus
from rota.firing.events import FallingBehind, PassDone
from rota.leases import LeaseTaken
from rota.queue.complete import AttemptRecord, Settlement
from rota.runtime import listening, measuring
from rota.telemetry.metrics import Metrics
from rota.telemetry.metrics_counts import Histogram
from rota.watch import alerts
from rota.watch.alerts import Trouble
from rota.workers.events import FinishRefused, OutcomesRecorded

if TYPE_CHECKING:
    import pytest

CANARY = "CANARY-9e11"
NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)


async def _figures(metrics: Metrics) -> dict[str, float]:
    kind, content = await metrics.render()
    assert kind.startswith("text/plain")
    return _read(content.decode())


def _read(text: str) -> dict[str, float]:
    """By name and labels, such as `rota_firings_total{dead}`."""
    return {
        f"{sample.name}{{{','.join(sample.labels.values())}}}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def _settled(db: Database, **fields: Any) -> Settlement:
    schedule = await make_schedule(db)
    await fire(db, schedule)
    (taken,) = await take(db, uuid4(), limit=1)
    begun = taken.available_at + timedelta(milliseconds=20)
    return Settlement(
        claim=taken,
        started_at=begun,
        finished_at=begun + timedelta(seconds=2),
        tried=AttemptRecord(outcome="succeeded"),
        **fields,
    )


async def test_outcomes_and_passes_are_counted(db: Database) -> None:
    """What was refused is no outcome."""
    bus = Bus()
    metrics = Metrics(bus, db, SystemClock())
    stop = metrics.start()
    good = await _settled(db, status="succeeded")
    refused = await _settled(db, status="dead")
    bus.publish(OutcomesRecorded(settlements=[good, refused], accepted=frozenset({good.claim.id})))
    bus.publish(
        PassDone(
            fired=5,
            caught_up=1,
            skipped=2,
            missed=3,
            cancelled=0,
            completed=0,
            refused=0,
            lag=timedelta(seconds=4),
            clock_offset=timedelta(seconds=-1),
        )
    )
    bus.publish(FallingBehind(lag=timedelta(seconds=90)))
    bus.publish(LeaseTaken(node=uuid4(), shard=1, fence=1, previous=None))
    about = {"firing_id": uuid4(), "schedule_id": uuid4(), "tenant_id": uuid4()}
    bus.publish(FinishRefused(**about, attempt=1, worker=uuid4()))
    stop()
    bus.publish(FallingBehind(lag=timedelta(seconds=90)))
    seen = await _figures(metrics)
    assert seen["rota_firings_total{succeeded}"] == 1
    assert seen["rota_firings_total{dead}"] == 0
    assert (seen["rota_firings_total{skipped}"], seen["rota_firings_total{missed}"]) == (2, 3)
    assert (seen["rota_slots_fired_total{}"], seen["rota_stale_completions_total{}"]) == (5, 1)
    assert (seen["rota_pass_lag_seconds{}"], seen["rota_clock_offset_seconds{}"]) == (4, -1)
    assert (seen["rota_falling_behind{}"], seen["rota_lease_changes_total{taken}"]) == (1, 1)
    assert seen["rota_lateness_seconds_bucket{0.01}"] == 0
    assert seen["rota_lateness_seconds_bucket{0.025}"] == 1
    assert seen["rota_attempt_duration_seconds_bucket{+Inf}"] == 1
    assert seen["rota_attempt_duration_seconds_sum{}"] == 2


async def test_how_the_installation_stands_is_read_when_asked(db: Database) -> None:
    """Nothing that a tenant wrote is in it."""
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, f"https://{CANARY}.example/{CANARY}", name="ops")
    for lane, state in (("http", "waiting"), (CANARY, "waiting"), (CANARY, "blocked")):
        other = await make_schedule(db, tenant_id=schedule.tenant_id)
        await fire(db, other, lane=lane, state=state, available_in=-timedelta(seconds=100))
    async with db.transaction() as tx:
        await tx.execute(
            """INSERT INTO circuits (host, failures, opened_at, open_until)
               VALUES ($1, 20, now(), now())""",
            CANARY,
        )
        trouble = Trouble(tenant_id=schedule.tenant_id, subject=CANARY, detail=CANARY)
        await alerts.open_(tx, "dead", [trouble])
    metrics = Metrics(Bus(), db, SystemClock())
    seen = await _figures(metrics)
    assert (seen["rota_database_up{}"], seen["rota_shards{}"]) == (1, 64)
    assert (seen["rota_shards_held{}"], seen["rota_nodes{}"]) == (0, 0)
    assert (seen["rota_queue_depth{http,waiting}"], seen["rota_queue_depth{task,waiting}"]) == (
        1,
        1,
    )
    assert (seen["rota_queue_depth{task,blocked}"], seen["rota_queue_depth{celery,running}"]) == (
        1,
        0,
    )
    assert seen["rota_queue_waiting_seconds{}"] >= 100
    assert (seen["rota_circuits_open{}"], seen["rota_alerts_open{dead}"]) == (1, 1)
    assert seen["rota_database_connections{engine,most}"] == 10
    text = (await metrics.render())[1].decode()
    assert CANARY not in text
    assert schedule.key not in text


async def test_while_the_database_is_away_it_answers_and_says_so(dsn: str) -> None:
    """F7."""
    db = await Database.open(dsn)
    metrics = Metrics(Bus(), db, SystemClock())
    await db.close()
    seen = await _figures(metrics)
    assert seen["rota_database_up{}"] == 0
    assert "rota_shards{}" not in seen, "what is not known is not zero"


async def test_many_who_ask_at_once_cost_one_look(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    transaction = db.transaction

    def counted(**more: Any) -> Any:
        nonlocal looks
        looks += 1
        return transaction(**more)

    monkeypatch.setattr(db, "transaction", counted)
    metrics = Metrics(Bus(), db, SystemClock())
    await asyncio.gather(*(metrics.render() for _ in range(20)))
    assert looks == 1


def test_a_histogram_counts_all_up_to_each_bound() -> None:
    histogram = Histogram((1.0, 2.0))
    for seconds in (0.5, 1.0, 1.5, 99.0):
        histogram.add(seconds)
    assert histogram.buckets() == [("1.0", 2), ("2.0", 3), ("+Inf", 4)]
    assert histogram.total == 102


async def test_a_process_without_an_api_has_a_port_of_its_own(db: Database, dsn: str) -> None:
    def config(**flags: object) -> Any:
        return load({"dsn": dsn, **flags}, {"HOME": "/tmp"}, None)

    class Opened:
        api_db = scheduling_db = db

    Opened.db = db  # pyright: ignore[reportAttributeAccessIssue]
    async with AsyncExitStack() as stack:
        assert measuring.listen(stack, config(roles="worker")) is None
        assert measuring.listen(stack, config(metrics_port=9)) is None, "the API's own serves them"
        assert measuring.listen(stack, config(roles="worker", metrics_port=9, metrics="no")) is None
        listener = listening.listen("127.0.0.1", 0)
        started: Any = Opened()
        measuring.start_measuring(
            stack,
            started,
            config(roles="worker"),
            listener=listener,
            bus=Bus(),
            clock=SystemClock(),
        )
        url = listening.url_of(listener, "127.0.0.1")
        async with httpx.AsyncClient(base_url=url) as http:
            answer = await http.get("/metrics")
            assert _read(answer.text)["rota_database_up{}"] == 1
            assert (await http.get("/healthz")).json() == {"status": "ok"}
            assert (await http.get("/v1/schedules")).status_code == 404
