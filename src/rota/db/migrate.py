"""Bringing a database up to this program: numbered SQL files, each applied once, in order.

`migrations/NNNN_name.sql` is applied in a transaction of its own, under an advisory lock, and noted
in `rota_migrations` in the same transaction. Any number of processes may start at once: the first
one in applies, the others find it done. An applied file never changes; a mistake is mended by the
next number.

Functions of the database are in `functions/*.sql`, each as it is now (CREATE OR REPLACE, with its
REVOKE and GRANT). The transaction of the newest migration re-creates all of them. Only a new
migration does: a program of an earlier release that starts during a rolling upgrade must not put
its own functions back. So a change of a function needs a new migration, which may be nothing but
the line `-- functions: …` that a test asks for. A function that gets other arguments is another
function: the earlier one serves earlier programs until a later migration drops it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from typing import TYPE_CHECKING, LiteralString, cast

from rota.db import driver, locks
from rota.db.transient import is_forbidden
from rota.errors import MigrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.db.pool import Database
    from rota.db.tx import Tx

_LONGEST = timedelta(days=1)
"""A migration of a large table may take hours; this is for a server that vanished meanwhile."""

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(" + locks.MIGRATIONS + ")"

_FIND_SCHEMA: LiteralString = "SELECT to_regnamespace('rota') IS NOT NULL"
_FIND_TABLE: LiteralString = "SELECT to_regclass('rota.rota_migrations') IS NOT NULL"
_MAKE_SCHEMA: LiteralString = "CREATE SCHEMA rota"
_MAKE_TABLE: LiteralString = """
    CREATE TABLE rota_migrations (
        number     integer     PRIMARY KEY,
        name       text        NOT NULL,
        sha256     text        NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_READ: LiteralString = "SELECT number, name, sha256 FROM rota_migrations ORDER BY number"
_RECORD: LiteralString = "INSERT INTO rota_migrations (number, name, sha256) VALUES ($1, $2, $3)"


@dataclass(frozen=True, slots=True)
class Applied:
    """What a database says about a migration it has."""

    number: int
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """Of the text with Unix line ends, so that a checkout's line ends do not count."""
        return hashlib.sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}"


def known() -> list[Migration]:
    """All that this program has, in order."""
    folder = resources.files("rota.db") / "migrations"
    texts = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    return parse({name: text for name, text in texts.items() if name.endswith(".sql")})


def functions() -> dict[str, str]:
    """The text of every file of functions, by name, in the order in which they are applied."""
    folder = resources.files("rota.db") / "functions"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name: file.read_text("utf-8") for file in files if file.name.endswith(".sql")}


def functions_digest() -> str:
    """Names the functions as they are now; the newest migration that changed them says the same."""
    text = "\n".join(f"{name}\n{text}" for name, text in functions().items())
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:16]


def parse(files: dict[str, str]) -> list[Migration]:
    """The migrations in files given by name, in order."""
    return [_parse_one(name, files[name]) for name in sorted(files)]


def still_to_apply(
    migrations: Sequence[Migration], applied: Sequence[Applied]
) -> Sequence[Migration]:
    """Those that the database lacks; `MigrationError` when its past is not this program's. Pure."""
    for expected, migration in enumerate(migrations, start=1):
        if migration.number != expected:
            raise MigrationError(
                f"expected migration {expected:04} next, got {migration}: "
                "this program is incomplete, install it again"
            )
    if len(applied) > len(migrations):
        newest = applied[-1]
        raise MigrationError(
            f"the database is newer than this program: it has migration {newest.number:04}_"
            f"{newest.name}, and this program knows {len(migrations)}. Upgrade Rota"
        )
    for migration, done in zip(migrations, applied, strict=False):
        _require_same(migration, done)
    return migrations[len(applied) :]


async def pending(
    db: Database, *, migrations: Sequence[Migration] | None = None
) -> Sequence[Migration]:
    """The migrations that `apply` would apply. Changes nothing."""
    migrations = known() if migrations is None else migrations

    async def look(tx: Tx) -> Sequence[Migration]:
        return still_to_apply(migrations, await _applied(tx))

    return await db.run(look, read_only=True)


async def apply(
    db: Database,
    *,
    migrations: Sequence[Migration] | None = None,
    on_applied: Callable[[Migration], None] | None = None,
) -> Sequence[Migration]:
    """Apply what is pending and return it; `on_applied` is called after each commit."""
    afterwards = list(functions().values()) if migrations is None else []
    migrations = known() if migrations is None else migrations
    done: list[Migration] = []

    async def apply_next(tx: Tx) -> Migration | None:
        return await _apply_next(tx, migrations, afterwards)

    # Repeatable: the second try reads under the lock what the first one did.
    while (migration := await db.run(apply_next, repeatable=True)) is not None:
        done.append(migration)
        if on_applied is not None:
            on_applied(migration)
    return done


async def _apply_next(
    tx: Tx, migrations: Sequence[Migration], afterwards: Sequence[str]
) -> Migration | None:
    # Another process may be at a long migration: wait for it, however long. The migration itself
    # keeps the lock timeout, because a table lock that waits makes everybody else wait behind it.
    await tx.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
    await tx.execute(_LOCK, reply_timeout=_LONGEST)
    await tx.execute("SET LOCAL lock_timeout = '5s'")
    await _make_room(tx)
    todo = still_to_apply(migrations, await _applied(tx))
    if not todo:
        return None
    migration = todo[0]
    is_newest = len(todo) == 1
    try:
        for text in (migration.sql, *(afterwards if is_newest else ())):
            # A file of this package, not text from outside.
            await tx.execute(cast("LiteralString", text), reply_timeout=_LONGEST)
    except driver.ERRORS as error:
        if not is_forbidden(error):
            raise
        raise MigrationError(f"migration {migration} was refused: {error}") from error
    await tx.execute(_RECORD, migration.number, migration.name, migration.sha256)
    return migration


async def _make_room(tx: Tx) -> None:
    # Asked first: CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even when it would
    # do nothing, and an administrator may have made the schema for a role without that right.
    if not await tx.fetch_value(_FIND_SCHEMA):
        await tx.execute(_MAKE_SCHEMA)
    if not await tx.fetch_value(_FIND_TABLE):
        await tx.execute(_MAKE_TABLE)


async def _applied(tx: Tx) -> list[Applied]:
    if not await tx.fetch_value(_FIND_TABLE):
        return []
    rows = await tx.fetch(_READ)
    return [Applied(row["number"], row["name"], row["sha256"]) for row in rows]


def _require_same(migration: Migration, done: Applied) -> None:
    if done.number != migration.number:
        raise MigrationError(
            f"expected the database to have migration {migration} before {done.number:04}_"
            f"{done.name}, got none: its table rota_migrations was changed by hand"
        )
    if done.sha256 != migration.sha256:
        raise MigrationError(
            f"migration {migration} is not the one that was applied to the database: expected "
            f"sha256 {done.sha256}, got {migration.sha256}. An applied migration must never change"
        )


def _parse_one(name: str, sql: str) -> Migration:
    match = _FILE_NAME.fullmatch(name)
    if match is None:
        raise MigrationError(f"expected a migration named NNNN_lower_case.sql, got {name}")
    return Migration(number=int(match[1]), name=match[2], sql=sql)
