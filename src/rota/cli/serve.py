"""`rota serve`: scheduler and worker, and the API in a process next to them; or some of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from rota import config as configuration
from rota.cli import output, quiet_interrupts
from rota.cli.config import DataDir, DirectDsn, Dsn, File, Host, Port, Role

if TYPE_CHECKING:
    from rota.runtime.serve import Started

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every firing and pass.")]


def serve(
    *,
    dsn: Dsn = None,
    direct_dsn: DirectDsn = None,
    role: Role = None,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    file: File = None,
    verbose: Verbose = False,
) -> None:
    """Run the server until it is stopped: on an embedded PostgreSQL, or on the one of --dsn."""
    quiet_interrupts()
    from rota.runtime import run  # noqa: PLC0415 - heavy, see app.py

    flags = {
        "dsn": dsn,
        "direct_dsn": direct_dsn,
        "data_dir": data_dir,
        "host": host,
        "port": port,
        "roles": role,
    }
    config = configuration.read(flags, file=file)
    run.until_signalled(
        config, on_started=announce, is_terminal=output.is_terminal(), verbose=verbose
    )


def announce(started: "Started") -> None:
    """Say where the server is, and how to sign in; each thing in a line of its own."""
    from rota.runtime import handover  # noqa: PLC0415 - heavy, see app.py

    if started.url is None:
        output.say(f"Rota runs as {', '.join(started.roles)}.")
    for line in handover.lines(url=started.url, sign_in=started.sign_in, new_key=started.new_key):
        output.say(line)
    output.console().file.flush()
