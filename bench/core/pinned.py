"""Claims under a pinned snapshot, next to a clean run.

A transaction left open elsewhere keeps vacuum from removing dead rows. Two databases of one server
are worked in turn, tick by tick, so that whatever else runs on the machine hits both alike: in one
of them a REPEATABLE READ snapshot is open for the whole run. (A snapshot pins the rows of its own
database only.)

`python -m bench.core.pinned --seconds 60` runs it alone, for development.
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Literal, LiteralString
from uuid import UUID

import uvloop
from rich.console import Console

from bench.core.claiming import settlement
from bench.core.stand import stands
from bench.frame.measure import Session
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.queue.claim import Standing, claim, sweep
from rota.queue.complete import settle
from rota.schedules.definition import HTTP_LANE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bench.core.stand import Stand

RATE = 2_000
"""Firings per second, in each of the two databases."""
SECONDS = 600
QUICK_SECONDS = 10
_QUICK_ROUNDS = 2

_TICK = 0.05
_SCHEDULES = 10_000
_LEAD = timedelta(seconds=2)
_AHEAD = timedelta(seconds=1.9)
_VISIBILITY = timedelta(seconds=30)
_WORKER = UUID(int=1)
_CLOCK = SystemClock()

# As a scheduler writes them: $1 firings that become due one after another, from $4 on. Ids begin
# with the time, as Rota's do: random ones would make the primary key's pages cold.
_ENTER: LiteralString = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, fence,
                       state, triggered_by, lane, host)
    SELECT (id_prefix(a.at) || substr(md5(random()::text), 1, 20))::uuid, s.schedule_id,
           $2::uuid, 1, a.at, a.at, 1, 'waiting', 'schedule', 'http', 'target.example'
      FROM generate_series(1, $1::integer) AS i
     CROSS JOIN LATERAL (
           SELECT clock_timestamp() + $4::interval + i * interval '10 us' AS at) AS a
      JOIN sample s ON s.n = ($3::bigint + i) % (SELECT count(*) FROM sample) + 1
"""
# The snapshot is taken by the first statement. It reads another table: a lock on the queue would
# be no part of this.
_PIN = (
    "SET idle_in_transaction_session_timeout = 0",
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "SELECT count(*) FROM tenants",
)
# What so many firings leave behind that were claimed and finished in the past.
_LEAVE_DEAD: tuple[LiteralString, ...] = (
    "UPDATE queue SET state = 'running', claimed_until = available_at + interval '30 s'",
    "DELETE FROM queue",
)
_DEAD: LiteralString = """
    SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'queue'
"""


@dataclass(slots=True, kw_only=True)
class _Side:
    """One of the two databases, worked by one worker."""

    name: str
    stand: Stand
    standing: Standing = field(default_factory=Standing)
    entered: int = 0
    done: int = 0
    claims: list[float] = field(default_factory=list[float])
    """Seconds each claim took, its transaction included."""
    busy: list[float] = field(default_factory=list[float])
    """Seconds of each tick's claim and finish."""
    counts: list[int] = field(default_factory=list[int])
    """Firings finished in each tick."""
    sweeps: list[float] = field(default_factory=list[float])
    sweeping: asyncio.Task[None] | None = None

    async def enter(self, count: int, ahead: timedelta = _AHEAD) -> None:
        tenant_id = self.stand.tenant_id
        await self.stand.admin.execute(_ENTER, count, tenant_id, self.entered, ahead)
        self.entered += count

    async def leave_dead(self, count: int) -> None:
        for first in range(0, count, 10_000):
            await self.enter(10_000, -timedelta(seconds=(count - first) / RATE))
            for each in _LEAVE_DEAD:
                await self.stand.admin.execute(each)
        self.entered = 0

    async def work(self) -> None:
        """Claim what there is, and finish it."""
        start = _CLOCK.monotonic()
        async with self.stand.db.transaction() as tx:
            claims = await claim(
                tx,
                [HTTP_LANE],
                _WORKER,
                limit=1_000,
                lead=_LEAD,
                visibility=_VISIBILITY,
                standing=self.standing,
            )
        self.claims.append(_CLOCK.monotonic() - start)
        if claims:
            async with self.stand.db.transaction() as tx:
                await settle(tx, _WORKER, [settlement(each) for each in claims])
        self.done += len(claims)
        self.counts.append(len(claims))
        self.busy.append(_CLOCK.monotonic() - start)
        # Beside the claims, as a worker does.
        if self.standing.marks.sweep_is_due and (self.sweeping is None or self.sweeping.done()):
            self.sweeping = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        start = _CLOCK.monotonic()
        async with self.stand.db.reading() as tx:
            await sweep(tx, [HTTP_LANE], lead=_LEAD, standing=self.standing)
        self.sweeps.append(_CLOCK.monotonic() - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Minute:
    """Figures of one side, over one minute."""

    p50: float
    p99: float
    """Milliseconds of a claim."""
    rate: float
    """Firings per second of the time that claiming and finishing took."""


async def rows(
    session: Session, *, seconds: float | None = None, rate: int = RATE, dead: int = 0
) -> list[Row]:
    """Claim times and throughput of the pinned side, minute by minute, beside the clean one's.

    With so many dead rows to begin with, a short run shows what a long one comes to.
    """
    if seconds is None:
        seconds = QUICK_SECONDS if session.rounds <= _QUICK_ROUNDS else SECONDS
    async with stands(_SCHEDULES, _SCHEDULES + 1, session=session) as (one, other):
        clean, pinned = _Side(name="clean", stand=one), _Side(name="pinned", stand=other)
        async with _pin(other):
            for side in (clean, pinned):
                await side.leave_dead(dead)
                await side.stand.admin.execute("VACUUM ANALYZE queue")
            took = await _run(session, (clean, pinned), seconds, rate)
            dead = await other.admin.fetchval(_DEAD)
    assert clean.done == clean.entered
    assert pinned.done == pinned.entered
    note = (
        f"{pinned.done:,} firings in {took:,.0f} s in each of two databases, claimed and finished "
        f"every {_TICK * 1000:.0f} ms in turn; {dead:,} dead rows in the pinned one at the end. "
        f"{len(pinned.sweeps)} sweeps there, the longest of {max(pinned.sweeps, default=0):.3f} s."
    )
    found = [
        _row("p99", clean, pinned, note),
        _row("p50", clean, pinned, note),
        _row("rate", clean, pinned, note),
    ]
    for row in found:
        session.tell(row)
    return found


async def _run(session: Session, sides: Sequence[_Side], seconds: float, rate: int) -> float:
    """Work both sides in turn, at the rate, until the time is over; then what is left."""
    start = _CLOCK.monotonic()
    for side in sides:
        await side.enter(rate // 10)
        await side.work()
        for kept in (side.claims, side.busy, side.counts):
            kept.clear()  # the plans were made
    tick = 0
    while (passed := _CLOCK.monotonic() - start) < seconds:
        wanted = int(passed * rate)
        # Whoever goes second finds the processor's caches full of the other's.
        for side in sides if tick % 2 else sides[::-1]:
            if wanted > side.entered:
                await side.enter(min(wanted - side.entered, rate // 2))
            await side.work()
        tick += 1
        if tick % 100 == 0:
            session.at("pinned", f"{passed:.0f} of {seconds:.0f} s")
        ahead = start + tick * _TICK - _CLOCK.monotonic()
        await _CLOCK.sleep(timedelta(seconds=max(0.0, ahead)))
    took = _CLOCK.monotonic() - start
    for side in sides:
        while side.done < side.entered:
            await side.work()
    return took


@asynccontextmanager
async def _pin(stand: Stand) -> AsyncGenerator[None]:
    for each in _PIN:
        await stand.bare.execute(each)
    try:
        yield
    finally:
        await stand.bare.execute("ROLLBACK")


def _row(what: Literal["p50", "p99", "rate"], clean: _Side, pinned: _Side, note: str) -> Row:
    """The goal: within 20 % of clean, that is 1/1.2 of it where less is better."""
    ours, theirs = ([getattr(each, what) for each in _minutes(side)] for side in (pinned, clean))
    less = what != "rate"
    return Row(
        f"Claim {what} under a pinned snapshot" if less else "Throughput under a pinned snapshot",
        "ms" if less else "firings per second",
        Figure("pinned", tuple(ours)),
        (Figure("clean", tuple(theirs)),),
        Goal(1 / 1.2 if less else 0.8, "clean"),
        note,
        "less" if less else "more",
    )


def _minutes(side: _Side) -> list[_Minute]:
    """The ticks in as many parts as there are minutes, at least in six."""
    ticks = list(zip(side.claims, side.busy, side.counts, strict=True))
    parts = max(6, round(len(ticks) * _TICK / 60))
    size = -(-len(ticks) // parts)
    found: list[_Minute] = []
    for first in range(0, len(ticks), size):
        part = ticks[first : first + size]
        times = sorted(each[0] for each in part)
        found.append(
            _Minute(
                p50=median(times) * 1000,
                p99=times[min(len(times) - 1, int(len(times) * 0.99))] * 1000,
                rate=sum(each[2] for each in part) / sum(each[1] for each in part),
            )
        )
    return found


def main() -> None:
    """Run it alone and print all figures, part by part."""
    parser = argparse.ArgumentParser(prog="python -m bench.core.pinned", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=RATE, help="firings per second, on each side")
    parser.add_argument("--dead", type=int, default=0, help="dead rows there are to begin with")
    asked = parser.parse_args()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    with (
        Session("pinned", rounds=1, console=console) as session,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        found = runner.run(rows(session, seconds=asked.seconds, rate=asked.rate, dead=asked.dead))
    for row in found:
        console.print(f"{row.title} ({row.unit}), part by part")
        for figure in (row.ours, *row.peers):
            console.print(f"  {figure.name:8}", *(f"{each:9.2f}" for each in figure.runs))
    console.print(found[0].note)


if __name__ == "__main__":
    main()
