"""Circuits: what all workers together know of hosts that fail (HX5).

A row of `circuits` is a host that has failed since it last answered. It counts, and opens when
enough attempts have failed in a row, whoever made them. What follows from what is the state machine
in `rota.workers.hosts.circuit`; the statements here do the same on rows that are locked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from rota.queue import hosts_sql as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.db import Row, Tx

CHANNEL: Final = "rota_circuits"
"""Told the host whenever a circuit opens or closes, or a probe came to nothing."""

MAX_READ: Final = 10_000
"""Circuits that a worker keeps in mind."""

FORGET_AFTER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a circuit opens, and for how long."""

    failures: int = 20
    """In a row; 0 for never."""
    interval: timedelta = timedelta(seconds=30)
    """How long it stays open the first time; twice as long each time after."""
    longest: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A host that has failed. Closed while `open_until` is None."""

    host: str
    failures: int
    trips: int = 0
    opened_at: datetime | None = None
    open_until: datetime | None = None
    probe_until: datetime | None = None


Probe = Literal["answered", "failed", "void"]
"""What came of a probe; void when it was broken off."""


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a worker has heard from a host since it last told."""

    answered: bool = False
    failures: int = 0
    """Since the last answer."""
    probe: Probe | None = None
    retry_after: timedelta = timedelta()
    error: str | None = None
    """The last one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What became of a circuit by a report."""

    circuit: Circuit | None
    """None when the host has answered."""
    opened: bool
    closed: bool
    """It had been open."""


async def report(tx: Tx, heard: Mapping[str, Heard], rules: Rules) -> dict[str, Told]:
    """Add to what is known of these hosts; what became of each that there is something to know of.

    Counting is exact whoever reports at the same time: each host's row is locked in turn.
    """
    failing = [host for host, each in heard.items() if each.failures]
    if failing:
        await tx.execute(sql.ENSURE_CIRCUITS, failing)
    each = list(heard.values())
    rows = await tx.fetch(
        sql.REPORT,
        list(heard),
        [one.answered for one in each],
        [one.failures for one in each],
        [one.probe or "" for one in each],
        [one.retry_after for one in each],
        [one.error for one in each],
        rules.failures,
        rules.interval,
        rules.longest,
    )
    return {row["host"]: _told(row) for row in rows}


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to whoever asks for the probe."""

    circuit: Circuit
    granted: bool


async def ask_probe(tx: Tx, patience: Mapping[str, timedelta]) -> dict[str, Asked]:
    """Ask to be the one who tries these hosts again, each for so long; nothing of closed ones.

    Of all who ask, over all workers, one is granted it.
    """
    rows = await tx.fetch(sql.PROBE, list(patience), list(patience.values()))
    return {row["host"]: Asked(circuit_of(row), row["granted"]) for row in rows}


async def read(tx: Tx) -> dict[str, Circuit]:
    """All there are, by host."""
    return {row["host"]: circuit_of(row) for row in await tx.fetch(sql.CIRCUITS, MAX_READ)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A circuit, with what people want to know beside it."""

    circuit: Circuit
    last_error: str | None
    changed_at: datetime
    seen_at: datetime


async def shown(tx: Tx, *, after: str | None, limit: int) -> Sequence[Shown]:
    """Circuits in the order of their hosts."""
    rows = await tx.fetch(sql.CIRCUITS_SHOWN, after, limit)
    return [
        Shown(
            circuit=circuit_of(row),
            last_error=row["last_error"],
            changed_at=row["changed_at"],
            seen_at=row["seen_at"],
        )
        for row in rows
    ]


async def reset(tx: Tx, host: str) -> bool:
    """Forget what is known of a host: it is called again at once. Whether there was anything."""
    return await tx.fetch_value(sql.RESET_CIRCUIT, host) is not None


async def forget_old(tx: Tx) -> None:
    """Forget hosts that nobody has called for long."""
    await tx.execute(sql.FORGET, FORGET_AFTER)


def circuit_of(row: Row) -> Circuit:
    return Circuit(
        host=row["host"],
        failures=row["failures"],
        trips=row["trips"],
        opened_at=row["opened_at"],
        open_until=row["open_until"],
        probe_until=row["probe_until"],
    )


def _told(row: Row) -> Told:
    return Told(
        circuit=None if row["closes"] else circuit_of(row),
        opened=row["opens"],
        closed=row["closes"] and row["was_open"],
    )
