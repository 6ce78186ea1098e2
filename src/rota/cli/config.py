"""The configuration as commands see it: the flags they share, the database it names, and
`rota config check`."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rota import config as configuration
from rota.cli import output
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.config import Config
    from rota.db.pool import Database
    from rota.db.pooler import Route

_TRIES = 2

# Flags are taken as text: the configuration reads them all and reports all problems at once.
File = Annotated[
    Path | None, typer.Option("--config", help="Read this file instead of ./rota.toml.")
]
Dsn = Annotated[str | None, typer.Option("--dsn", help="PostgreSQL to use. (ROTA_DSN)")]
DirectDsn = Annotated[
    str | None,
    typer.Option("--direct-dsn", help="The same, past a transaction pooler. (ROTA_DIRECT_DSN)"),
]
DataDir = Annotated[
    str | None, typer.Option("--data-dir", help="The embedded server's folder. (ROTA_DATA_DIR)")
]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on. (ROTA_HOST)")]
Port = Annotated[str | None, typer.Option("--port", help="Port to listen on. (ROTA_PORT)")]
Role = Annotated[
    str | None, typer.Option("--role", help="Any of api,scheduler,worker. (ROTA_ROLES)")
]

app = output.commands("Look at the configuration.")


@asynccontextmanager
async def database(config: Config) -> AsyncGenerator[Database]:
    """The database that the configuration names; an embedded one is started for as long."""
    from rota.db import Database, Retry, embedded  # noqa: PLC0415 - heavy, see app.py

    async with AsyncExitStack() as stack:
        dsn, is_pooled = config.dsn, False
        if dsn is None:
            server = await stack.enter_async_context(await embedded.start(config.data_dir))
            dsn = server.dsn
        else:
            is_pooled = (await route(config, dsn)).is_pooled
        # A person is waiting: two tries get past a blip, more would only delay the sentence.
        opened = await Database.open(
            dsn, pool_size=1, is_pooled=is_pooled, retry=Retry(tries=_TRIES)
        )
        yield await stack.enter_async_context(opened)


async def route(config: Config, dsn: str) -> Route:
    """What the DSN leads to, and whether there is a way past it."""
    from rota.db import Retry  # noqa: PLC0415 - heavy, see app.py
    from rota.db.pooler import find_route  # noqa: PLC0415 - as above

    return await find_route(dsn, config.direct_dsn, retry=Retry(tries=_TRIES))


def is_made(config: Config) -> bool:
    """Whether there is a database to look at: looking must not be what makes an embedded one."""
    from rota.db.embedded import layout  # noqa: PLC0415 - heavy, see app.py

    return config.dsn is not None or layout.find(config.data_dir) is not None


@app.callback()
def group() -> None:
    """Look at the configuration."""


@app.command()
def check(
    *,
    file: File = None,
    dsn: Dsn = None,
    direct_dsn: DirectDsn = None,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    role: Role = None,
    as_json: output.Json = False,
) -> None:
    """Show every setting, its value and where it came from; or every problem, and exit 1."""
    flags = {
        "dsn": dsn,
        "direct_dsn": direct_dsn,
        "data_dir": data_dir,
        "host": host,
        "port": port,
        "roles": role,
    }
    try:
        config = configuration.read(flags, file=file)
    except InvalidConfig as error:
        if not as_json:
            raise
        output.print_json({"ok": False, "problems": error.problems, "settings": []})
        raise typer.Exit(1) from error
    if as_json:
        output.print_json({"ok": True, "problems": [], "settings": _records(config)})
    else:
        _show(config)


def _records(config: Config) -> list[dict[str, object]]:
    shown = config.redacted()
    return [
        {
            "name": setting.name,
            "value": shown[setting.name],
            "source": config.sources[setting.name],
            "help": setting.help,
        }
        for setting in configuration.settings()
    ]


def _show(config: Config) -> None:
    rows = [
        (str(record["name"]), _cell(record["value"]), str(record["source"]), str(record["help"]))
        for record in _records(config)
    ]
    output.table(rows, headers=("setting", "value", "from", ""))


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else str(value)
