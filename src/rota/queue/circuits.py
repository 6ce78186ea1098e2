"""Circuits: what all workers together know of hosts that fail.

A row of `circuits` is a host that has failed for a tenant since it last answered that tenant. It
counts, and opens when enough of the tenant's attempts have failed in a row, whichever worker made
them. What follows from what is the state machine in `rota.workers.hosts.circuit`; the statements
here do the same on rows that are locked.

An open circuit concerns its own tenant. A tenant chooses its time-outs, paths and ports, so its
failures alone say little of a host to others: `reach` is how far they go.

Statements lock many rows in the order of their keys: two that met in different orders would
deadlock.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, LiteralString, NamedTuple

from rota.db import locks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx

CHANNEL: Final = locks.CIRCUITS

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


# A row to count in. The one that answers in the meantime takes it away again, and that is right.
_ENSURE: LiteralString = """
    INSERT INTO circuits (host, tenant_id, failures)
    SELECT host, tenant_id, 0
      FROM unnest($1::text[], $2::uuid[]) AS x(host, tenant_id)
     ORDER BY host, tenant_id
        ON CONFLICT DO NOTHING
"""

# The state machine of `rota.workers.hosts.circuit`, on the rows as they are once they are locked.
# `fresh` are the failures since the last answer within this report, and so are those of them that
# others may see (`x.shared`) or that are refusals (`x.refused`); `probe` is empty for none.
_REPORT: LiteralString = (
    """
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::text[], $2::boolean[], $3::integer[], $4::text[], $5::interval[],
                      $6::text[], $10::uuid[], $11::integer[], $12::integer[])
               AS x(host, answered, fresh, probe, retry_after, error, tenant_id, shared, refused)
         ORDER BY host, tenant_id
    ), held AS MATERIALIZED (
        SELECT h.host, h.tenant_id, h.trips, h.opened_at, h.open_until, h.probe_until, h.reach,
               x.fresh, x.probe, x.retry_after, x.error,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.fresh
                    ELSE h.failures + x.fresh END AS counted,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.shared
                    ELSE h.shared + x.shared END AS shared,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.refused
                    ELSE h.refused + x.refused END AS refused,
               x.probe = 'answered'
               OR (h.open_until IS NULL AND x.answered AND x.fresh = 0) AS closes
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.*
                 FROM circuits c
                WHERE c.host = x.host AND c.tenant_id = x.tenant_id
                  FOR UPDATE) AS h
    ), judged AS MATERIALIZED (
        SELECT held.*,
               NOT closes AND CASE WHEN open_until IS NULL THEN counted >= $7::integer
                                   ELSE probe = 'failed' END AS opens,
               least($9::interval, greatest(
                   $8::interval * power(2, least(trips, 20)), retry_after)) AS open_for
          FROM held
    ), closed AS (
        DELETE FROM circuits c
         USING judged j
         WHERE c.host = j.host AND c.tenant_id = j.tenant_id AND j.closes
    ), changed AS (
        UPDATE circuits c
           SET failures = j.counted,
               shared = j.shared,
               refused = j.refused,
               reach = CASE WHEN NOT j.opens THEN j.reach
                            WHEN j.refused >= $7::integer THEN 'host'
                            WHEN j.shared >= $7::integer THEN 'shared'
                            ELSE 'tenant' END,
               trips = j.trips + j.opens::integer,
               opened_at = CASE WHEN j.opens THEN t.now ELSE j.opened_at END,
               open_until = CASE WHEN j.opens THEN t.now + j.open_for
                                 WHEN j.open_until > t.now AND j.fresh > 0
                                 THEN greatest(j.open_until, t.now + least(j.retry_after, $9))
                                 ELSE j.open_until END,
               probe_until = CASE WHEN j.opens OR j.probe = 'void' THEN NULL
                                  ELSE j.probe_until END,
               last_error = coalesce(j.error, c.last_error),
               changed_at = t.now
          FROM judged j, t
         WHERE c.host = j.host AND c.tenant_id = j.tenant_id
           AND NOT j.closes AND (j.fresh > 0 OR j.probe <> '')
     RETURNING c.*
    ), told AS MATERIALIZED (
        SELECT """
    + locks.notify(locks.CIRCUITS, "host")
    + """
          FROM judged
         WHERE opens OR (closes AND open_until IS NOT NULL) OR probe = 'void'
    )
    SELECT j.host, j.tenant_id, j.opens, j.closes, j.open_until IS NOT NULL AS was_open,
           coalesce(c.failures, j.counted) AS failures, coalesce(c.trips, j.trips) AS trips,
           coalesce(c.shared, j.shared) AS shared, coalesce(c.refused, j.refused) AS refused,
           coalesce(c.reach, j.reach) AS reach,
           coalesce(c.opened_at, j.opened_at) AS opened_at,
           coalesce(c.open_until, j.open_until) AS open_until,
           CASE WHEN c.host IS NULL THEN j.probe_until ELSE c.probe_until END AS probe_until,
           (SELECT count(*) FROM told) AS told
      FROM judged j
      LEFT JOIN changed c ON c.host = j.host AND c.tenant_id = j.tenant_id
"""
)


async def report(tx: Tx, heard: Mapping[Called, Heard], rules: Rules) -> dict[Called, Told]:
    """Add to what is known of these hosts; what became of each that there is something to know of.

    Counting is exact whoever reports at the same time: each row is locked in turn.
    """
    failing = [called for called, each in heard.items() if each.failures]
    if failing:
        await tx.execute(_ENSURE, *_columns(failing))
    each = list(heard.values())
    hosts, tenants = _columns(heard)
    rows = await tx.fetch(
        _REPORT,
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


# A host that has answered one tenant ($1, $2) works: what others have seen is their own affair.
# A row that is being counted in is left to the next answer.
_KEEP_TO_TENANTS: LiteralString = (
    """
    WITH doubted AS MATERIALIZED (
        SELECT c.host, c.tenant_id, c.reach
          FROM circuits c
         WHERE c.host = ANY ($1::text[]) AND c.shared > 0
           AND EXISTS (SELECT
                         FROM unnest($1::text[], $2::uuid[]) AS x(host, tenant_id)
                        WHERE x.host = c.host AND x.tenant_id <> c.tenant_id)
         ORDER BY c.host, c.tenant_id
           FOR UPDATE SKIP LOCKED
    ), told AS MATERIALIZED (
        SELECT """
    + locks.notify(locks.CIRCUITS, "host")
    + """ FROM doubted WHERE reach <> 'tenant'
    )
    UPDATE circuits c
       SET shared = 0, refused = 0, reach = 'tenant'
      FROM doubted d
     WHERE c.host = d.host AND c.tenant_id = d.tenant_id AND (SELECT count(*) FROM told) >= 0
 RETURNING c.host, c.tenant_id
"""
)


async def keep_to_tenants(tx: Tx, answered: Collection[Called]) -> list[Called]:
    """These hosts have answered these tenants: the failures of other tenants are their own affair.

    The circuits of which that was news.
    """
    return [_called(row) for row in await tx.fetch(_KEEP_TO_TENANTS, *_columns(answered))]


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to whoever asks for the probe."""

    circuit: Circuit
    granted: bool


# Whoever changes the row has the probe: the others wait for the lock, look again, and find it
# given. `probe_until` is for a prober that does not live to tell.
_PROBE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::text[], $2::interval[], $3::uuid[]) AS x(host, patience, tenant_id)
         ORDER BY host, tenant_id
    ), held AS MATERIALIZED (
        SELECT h.*, x.patience
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.*
                 FROM circuits c
                WHERE c.host = x.host AND c.tenant_id = x.tenant_id
                  FOR UPDATE) AS h
    ), granted AS (
        UPDATE circuits c
           SET probe_until = clock_timestamp() + h.patience, changed_at = clock_timestamp()
          FROM held h
         WHERE c.host = h.host AND c.tenant_id = h.tenant_id
           AND h.open_until <= clock_timestamp()
           AND coalesce(h.probe_until <= clock_timestamp(), true)
     RETURNING c.host, c.tenant_id, c.probe_until
    )
    SELECT h.host, h.tenant_id, h.failures, h.shared, h.refused, h.reach, h.trips, h.opened_at,
           h.open_until, coalesce(g.probe_until, h.probe_until) AS probe_until,
           g.host IS NOT NULL AS granted
      FROM held h
      LEFT JOIN granted g ON g.host = h.host AND g.tenant_id = h.tenant_id
"""


async def ask_probe(tx: Tx, patience: Mapping[Called, timedelta]) -> dict[Called, Asked]:
    """Ask to be the one who tries these hosts again, each for so long; nothing of closed ones.

    Of all who ask, over all workers, one is granted it.
    """
    hosts, tenants = _columns(patience)
    rows = await tx.fetch(_PROBE, hosts, list(patience.values()), tenants)
    return {_called(row): Asked(circuit_of(row), row["granted"]) for row in rows}


_READ: LiteralString = """
    SELECT host, tenant_id, failures, shared, refused, reach, trips, opened_at, open_until,
           probe_until
      FROM circuits
     ORDER BY host, tenant_id
     LIMIT $1
"""


async def read(tx: Tx) -> dict[Called, Circuit]:
    """All there are."""
    return {_called(row): circuit_of(row) for row in await tx.fetch(_READ, MAX_READ)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A circuit, with what people want to know beside it."""

    circuit: Circuit
    tenant: str | None
    """Its name; None when it is gone."""
    last_error: str | None
    changed_at: datetime
    seen_at: datetime


_SHOWN: LiteralString = """
    SELECT c.host, c.tenant_id, c.failures, c.shared, c.refused, c.reach, c.trips, c.opened_at,
           c.open_until, c.probe_until, c.last_error, c.changed_at, t.name AS tenant,
           clock_timestamp() AS seen_at
      FROM circuits c
      LEFT JOIN tenants t ON t.id = c.tenant_id
     WHERE $1::text IS NULL OR (c.host, c.tenant_id) > ($1, $2::uuid)
     ORDER BY c.host, c.tenant_id
     LIMIT $3
"""


async def shown(tx: Tx, *, after: Called | None, limit: int) -> Sequence[Shown]:
    """Circuits of all tenants, in the order of their hosts. For the operator."""
    host, tenant_id = (None, None) if after is None else after
    rows = await tx.fetch(_SHOWN, host, tenant_id, limit)
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


_RESET: LiteralString = (
    """
    WITH gone AS (
        DELETE FROM circuits WHERE host = $1 RETURNING host
    )
    SELECT count(*) AS count, max("""
    + locks.notify(locks.CIRCUITS, "host")
    + """::text) FROM gone
"""
)


async def reset(tx: Tx, host: str) -> bool:
    """Forget what is known of a host, for all tenants: it is called again at once. Whether there
    was anything."""
    return await tx.fetch_value(_RESET, host) > 0


# A host that nobody has called for so long is a stranger again; its row would be read for ever.
_FORGET: LiteralString = """
    WITH old_circuits AS (
        DELETE FROM circuits
         WHERE (host, tenant_id) IN (
               SELECT c.host, c.tenant_id
                 FROM circuits c
                WHERE greatest(c.changed_at, c.open_until) < now() - $1::interval
                ORDER BY c.host, c.tenant_id
                  FOR UPDATE SKIP LOCKED)
    )
    DELETE FROM host_pace
     WHERE host IN (SELECT p.host
                      FROM host_pace p
                     WHERE greatest(p.next_at, p.tail_at) < now() - $1::interval
                     ORDER BY p.host
                       FOR UPDATE SKIP LOCKED)
"""


async def forget_old(tx: Tx) -> None:
    """Forget hosts that nobody has called for long."""
    await tx.execute(_FORGET, FORGET_AFTER)


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
