"""Looking for trouble in and around a database, before it bites.

Each check is a pure judgement of values that were read; `checks` reads them and judges them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import migrate
from rota.db.block import TENANT_ROLE
from rota.db.pooler import Mode
from rota.errors import MigrationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.clock import Clock
    from rota.db.pool import Database
    from rota.db.pooler import Route
    from rota.db.tx import Tx

OLDEST_SERVER: Final = 14
MAX_CLOCK_OFFSET: Final = timedelta(milliseconds=500)

_SAMPLES = 10
_FEW_CONNECTIONS = 20

_SETTINGS: LiteralString = """
    SELECT name, setting FROM pg_settings
     WHERE name IN ('server_version', 'server_version_num', 'fsync', 'full_page_writes',
                    'synchronous_commit', 'max_connections', 'superuser_reserved_connections')
"""
_SESSIONS: LiteralString = """
    SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
"""
_CLOCK: LiteralString = "SELECT clock_timestamp()"
# As migration 0009 asks: before version 16 whoever is a member may act as the role.
_MAY_ACT: LiteralString = """
    SELECT r.oid IS NOT NULL AS there, quote_ident(current_user) AS login,
           pg_has_role(current_user, r.oid,
                       CASE WHEN current_setting('server_version_num')::int >= 160000
                            THEN 'SET' ELSE 'MEMBER' END) AS may_act
      FROM (SELECT $1::name AS rolname) AS asked
      LEFT JOIN pg_roles r ON r.rolname = asked.rolname
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool | None
    """None when it could not be told, or is a warning."""
    found: str
    advice: str = ""
    """What to do about it; empty when there is nothing to do."""


@dataclass(frozen=True, slots=True)
class ClockSample:
    """The server's clock, asked for once."""

    asked_at: datetime
    server_at: datetime
    round_trip: timedelta

    @property
    def offset(self) -> timedelta:
        """How far the server's clock is ahead, if its answer was made half way through."""
        return self.server_at - (self.asked_at + self.round_trip / 2)


async def checks(db: Database, clock: Clock) -> list[Check]:
    """All checks, in the order in which a reader should see them.

    Raises `DatabaseUnavailable` when there is no database to look at.
    """

    async def look(tx: Tx) -> tuple[dict[str, str], int]:
        settings = {row["name"]: row["setting"] for row in await tx.fetch(_SETTINGS)}
        return settings, await tx.fetch_value(_SESSIONS)

    settings, sessions = await db.run(look, read_only=True)
    return [
        server_version(settings),
        *lossy_settings(settings),
        clock_offset(await measure(db, clock)),
        await _migrations(db),
        connections(settings, sessions),
    ]


async def measure(db: Database, clock: Clock) -> list[ClockSample]:
    """Ask the server for its time, several times."""

    async def sample(tx: Tx) -> ClockSample:
        asked_at, started = clock.now(), clock.monotonic()
        server_at: datetime = await tx.fetch_value(_CLOCK)
        return ClockSample(asked_at, server_at, timedelta(seconds=clock.monotonic() - started))

    async def samples(tx: Tx) -> list[ClockSample]:
        return [await sample(tx) for _ in range(_SAMPLES)]

    return await db.run(samples, read_only=True)


def server_version(settings: Mapping[str, str]) -> Check:
    ok = int(settings["server_version_num"]) >= OLDEST_SERVER * 10_000
    advice = "" if ok else f"upgrade the server to PostgreSQL {OLDEST_SERVER} or newer"
    return Check("server version", ok, f"PostgreSQL {settings['server_version']}", advice)


def pooler(route: Route) -> Check:
    """What stands between Rota and the server, and whether Rota can work through it."""
    if route.mode is Mode.DIRECT:
        return Check("pooler", ok=True, found="none")
    found = f"{route.mode.value} mode"
    if route.has_direct:
        found += ", with direct connections past it"
    elif route.direct_dsn is None:
        advice = "set --direct-dsn or ROTA_DIRECT_DSN to the server's own address"
        return Check("pooler", ok=False, found=f"{found}, without a direct_dsn", advice=advice)
    return Check("pooler", ok=True, found=found)


def lossy_settings(settings: Mapping[str, str]) -> list[Check]:
    """Settings with which a server forgets what it acknowledged."""
    losses = {
        "fsync": "a crash of the machine can destroy the whole database",
        "full_page_writes": "a crash of the machine can destroy pages half written",
        "synchronous_commit": "a crash of the server loses firings that were acknowledged",
    }
    return [_lossy(name, settings[name], loss) for name, loss in losses.items()]


def _lossy(name: str, value: str, loss: str) -> Check:
    ok = value != "off"
    return Check(name, ok, value, "" if ok else f"set {name} = on: {loss}")


def clock_offset(samples: list[ClockSample]) -> Check:
    """The sample with the shortest round trip has the least room for error, so it counts."""
    if not samples:
        return Check("clock offset", ok=None, found="no sample")
    best = min(samples, key=lambda sample: sample.round_trip)
    milliseconds = best.offset / timedelta(milliseconds=1)
    uncertainty = best.round_trip / 2 / timedelta(milliseconds=1)
    ok = abs(best.offset) <= MAX_CLOCK_OFFSET
    return Check(
        "clock offset",
        ok,
        f"the database is {milliseconds:+.1f} ms from this machine (give or take "
        f"{uncertainty:.1f} ms)",
        "" if ok else "run NTP (chrony, systemd-timesyncd) on both machines",
    )


def connections(settings: Mapping[str, str], sessions: int) -> Check:
    """Whether more processes can still connect."""
    usable = int(settings["max_connections"]) - int(settings["superuser_reserved_connections"])
    ok = usable - sessions >= _FEW_CONNECTIONS
    advice = "" if ok else "raise max_connections, or give each process a smaller pool"
    return Check("connections", ok, f"{sessions} of {usable} in use", advice)


async def tenant_role(tx: Tx) -> Check:
    """Whether Rota's user may act as the role that row security is for; without it the API and the
    dashboard can do nothing for any tenant. Of a migrated database."""
    row = await tx.fetch_row(_MAY_ACT, TENANT_ROLE)
    assert row is not None
    return may_act(row["login"], there=row["there"], may_act=bool(row["may_act"]))


def may_act(login: str, *, there: bool, may_act: bool) -> Check:
    if may_act:
        return Check("tenant role", ok=True, found=f"{login} may act as {TENANT_ROLE}")
    grant = f"GRANT {TENANT_ROLE} TO {login};"
    if there:
        found = f"{login} may not act as {TENANT_ROLE}: nothing can be done for any tenant"
        return Check("tenant role", ok=False, found=found, advice=f"as an administrator: {grant}")
    # Its rights and policies cannot have come along either.
    advice = (
        f"as an administrator: CREATE ROLE {TENANT_ROLE} NOLOGIN; {grant} "
        "Then restore the backup again, whose rights and policies name the role"
    )
    found = f"there is no role {TENANT_ROLE}: nothing can be done for any tenant"
    return Check("tenant role", ok=False, found=found, advice=advice)


async def _migrations(db: Database) -> Check:
    try:
        pending = await migrate.pending(db)
    except MigrationError as error:
        return Check("migrations", ok=False, found=str(error), advice="see the message")
    if pending:
        names = ", ".join(map(str, pending))
        return Check("migrations", ok=False, found=f"pending: {names}", advice="run rota migrate")
    return Check("migrations", ok=True, found="all applied")
