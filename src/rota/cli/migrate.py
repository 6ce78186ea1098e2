"""`rota migrate`: bring the database up to this program, or see what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rota import config as configuration
from rota.cli import output
from rota.cli.config import DataDir, DirectDsn, Dsn, File, database, is_made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.config import Config
    from rota.db.migrate import Migration

Check = Annotated[
    bool, typer.Option("--check", help="Only list what is pending; exit 1 if anything is.")
]


def migrate(
    *,
    check: Check = False,
    file: File = None,
    dsn: Dsn = None,
    direct_dsn: DirectDsn = None,
    data_dir: DataDir = None,
    as_json: output.Json = False,
) -> None:
    """Apply the pending migrations to the database, one by one. Safe to run at any time."""
    import asyncio  # noqa: PLC0415 - heavy, see app.py

    config = configuration.read(
        {"dsn": dsn, "direct_dsn": direct_dsn, "data_dir": data_dir}, file=file
    )
    if check:
        pending = asyncio.run(_pending(config))
        _report("pending", pending, as_json=as_json)
        raise typer.Exit(1 if pending else 0)
    applied = asyncio.run(_apply(config, aloud=not as_json))
    _report("applied", applied, as_json=as_json)


async def _pending(config: Config) -> Sequence[Migration]:
    from rota.db import migrate as migrations  # noqa: PLC0415 - heavy, see app.py

    if not is_made(config):
        return migrations.known()
    async with database(config) as db:
        return await migrations.pending(db)


async def _apply(config: Config, *, aloud: bool) -> Sequence[Migration]:
    from rota.db import migrate as migrations  # noqa: PLC0415 - heavy, see app.py

    def show(migration: Migration) -> None:
        if aloud:
            output.say(f"applied  {migration}")

    async with database(config) as db:
        return await migrations.apply(db, on_applied=show)


def _report(state: str, migrations: Sequence[Migration], *, as_json: bool) -> None:
    if as_json:
        output.print_json({state: [str(migration) for migration in migrations]})
    elif not migrations:
        output.say("The database is up to date.", style="green")
    elif state == "pending":
        for migration in migrations:
            output.say(f"pending  {migration}")
