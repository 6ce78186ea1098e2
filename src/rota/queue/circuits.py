"""Circuits: what all workers together know of hosts that fail.

A row of `circuits` is a host that has failed for a tenant since it last answered that tenant. It
counts, and opens when enough of the tenant's attempts have failed in a row, whichever worker made
them. What follows from what is the state machine in `rota.workers.hosts.circuit`; the statements
here do the same on rows that are locked.

An open circuit concerns its own tenant. A tenant chooses its time-outs, paths and ports, so its
failures alone say little of a host to others: `reach` is how far they go.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from rota.queue import hosts_sql as sql

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

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


class Called(NamedTuple):
    """A host, and who calls it."""

    host: str
    tenant_id: UUID


Reach = Literal["tenant", "shared", "host"]
"""Whom an open circuit concerns: `tenant`, its own alone; `host`, all who call the host; `shared`,
all as soon as the circuit of a second tenant says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A host that has failed for a tenant. Closed while `open_until` is None."""

    host: str
    tenant_id: UUID
    failures: int
    shared: int = 0
    """Of the failures, since the host last answered anybody: those that others may see too."""
    refused: int = 0
    """Of these: connections that the host's port refused."""
    reach: Reach = "tenant"
    trips: int = 0
    opened_at: datetime | None = None
    open_until: datetime | None = None
    probe_until: datetime | None = None


Probe = Literal["answered", "failed", "void"]
"""What came of a probe; void when it was broken off."""


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a worker has heard from a host for a tenant since it last told."""

    answered: bool = False
    failures: int = 0
    """Since the last answer; so are the next two."""
    shared: int = 0
    refused: int = 0
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


async def report(tx: Tx, heard: Mapping[Called, Heard], rules: Rules) -> dict[Called, Told]:
    """Add to what is known of these hosts; what became of each that there is something to know of.

    Counting is exact whoever reports at the same time: each row is locked in turn.
    """
    failing = [called for called, each in heard.items() if each.failures]
    if failing:
        await tx.execute(sql.ENSURE_CIRCUITS, *_columns(failing))
    each = list(heard.values())
    hosts, tenants = _columns(heard)
    rows = await tx.fetch(
        sql.REPORT,
        hosts,
        [one.answered for one in each],
        [one.failures for one in each],
        [one.probe or "" for one in each],
        [one.retry_after for one in each],
        [one.error for one in each],
        rules.failures,
        rules.interval,
        rules.longest,
        tenants,
        [one.shared for one in each],
        [one.refused for one in each],
    )
    return {_called(row): _told(row) for row in rows}


async def keep_to_tenants(tx: Tx, answered: Collection[Called]) -> list[Called]:
    """These hosts have answered these tenants: the failures of other tenants are their own affair.

    The circuits of which that was news.
    """
    return [_called(row) for row in await tx.fetch(sql.KEEP_TO_TENANTS, *_columns(answered))]


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to whoever asks for the probe."""

    circuit: Circuit
    granted: bool


async def ask_probe(tx: Tx, patience: Mapping[Called, timedelta]) -> dict[Called, Asked]:
    """Ask to be the one who tries these hosts again, each for so long; nothing of closed ones.

    Of all who ask, over all workers, one is granted it.
    """
    hosts, tenants = _columns(patience)
    rows = await tx.fetch(sql.PROBE, hosts, list(patience.values()), tenants)
    return {_called(row): Asked(circuit_of(row), row["granted"]) for row in rows}


async def read(tx: Tx) -> dict[Called, Circuit]:
    """All there are."""
    return {_called(row): circuit_of(row) for row in await tx.fetch(sql.CIRCUITS, MAX_READ)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A circuit, with what people want to know beside it."""

    circuit: Circuit
    tenant: str | None
    """Its name; None when it is gone."""
    last_error: str | None
    changed_at: datetime
    seen_at: datetime


async def shown(tx: Tx, *, after: Called | None, limit: int) -> Sequence[Shown]:
    """Circuits of all tenants, in the order of their hosts. For the operator."""
    host, tenant_id = (None, None) if after is None else after
    rows = await tx.fetch(sql.CIRCUITS_SHOWN, host, tenant_id, limit)
    return [
        Shown(
            circuit=circuit_of(row),
            tenant=row["tenant"],
            last_error=row["last_error"],
            changed_at=row["changed_at"],
            seen_at=row["seen_at"],
        )
        for row in rows
    ]


async def reset(tx: Tx, host: str) -> bool:
    """Forget what is known of a host, for all tenants: it is called again at once. Whether there
    was anything."""
    return await tx.fetch_value(sql.RESET_CIRCUIT, host) > 0


async def forget_old(tx: Tx) -> None:
    """Forget hosts that nobody has called for long."""
    await tx.execute(sql.FORGET, FORGET_AFTER)


def circuit_of(row: Row) -> Circuit:
    return Circuit(
        host=row["host"],
        tenant_id=row["tenant_id"],
        failures=row["failures"],
        shared=row["shared"],
        refused=row["refused"],
        reach=row["reach"],
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


def _called(row: Row) -> Called:
    return Called(row["host"], row["tenant_id"])


def _columns(all_: Collection[Called]) -> tuple[list[str], list[UUID]]:
    return [each.host for each in all_], [each.tenant_id for each in all_]
