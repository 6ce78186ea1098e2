"""The schema written down: `schema.sql`, as it is after all migrations.

    python -m rota.db.schema            say whether schema.sql is fresh, with the difference
    python -m rota.db.schema --write    write it anew

Both work on a database of their own, on an embedded server started for it. `schema.sql` is for
readers and reviews: a change of the schema shows as a difference in one place. It is never applied.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import sys
import tempfile
from pathlib import Path

from rota.db import catalog, embedded, migrate
from rota.db.pool import Database

FILE = Path(__file__).with_name("schema.sql")

_HEADER = """\
-- The schema after all migrations. Made by `python -m rota.db.schema --write`; do not edit.

"""


async def current(db: Database) -> str:
    """What schema.sql should be, from a database that has all migrations and nothing else."""
    async with db.transaction(isolation="repeatable_read", read_only=True) as tx:
        return _HEADER + await catalog.dump(tx)


def difference(written: str, real: str) -> str:
    """How schema.sql differs from the schema; empty when it does not."""
    lines = difflib.unified_diff(
        written.splitlines(keepends=True),
        real.splitlines(keepends=True),
        fromfile=FILE.name,
        tofile="the schema after all migrations",
    )
    return "".join(lines)


async def of_new_database() -> str:
    """`current` for a database made for it and thrown away."""
    with tempfile.TemporaryDirectory(prefix="rota-schema-") as folder:
        data_dir = Path(folder) / "data"
        try:
            async with await embedded.start(data_dir, extra_settings={"fsync": "off"}) as server:
                return await _of_empty_database(server.dsn)
        finally:
            await embedded.remove(data_dir)


async def _of_empty_database(dsn: str) -> str:
    async with await Database.open(dsn) as db:
        await migrate.apply(db)
        return await current(db)


def main(arguments: list[str]) -> int:
    """The exit code: 1 when schema.sql is stale and was not written."""
    parser = argparse.ArgumentParser(prog="python -m rota.db.schema", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write schema.sql anew")
    write: bool = parser.parse_args(arguments).write
    real = asyncio.run(of_new_database())
    if write:
        FILE.write_text(real, "utf-8")
        return 0
    stale = difference(FILE.read_text("utf-8") if FILE.exists() else "", real)
    if stale:
        sys.stderr.write(f"{stale}\nschema.sql is stale: run python -m rota.db.schema --write\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
