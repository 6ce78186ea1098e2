"""`rota serve`: scheduler and worker, and the API in a process next to them; or some of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from rota import config as configuration
from rota.cli import output
from rota.cli.config import DataDir, Dsn, File, Host, Port, Role

if TYPE_CHECKING:
    from rota.runtime.serve import Started

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every firing and pass.")]


def serve(
    *,
    dsn: Dsn = None,
    role: Role = None,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    file: File = None,
    verbose: Verbose = False,
) -> None:
    """Run the server until it is stopped: on an embedded PostgreSQL, or on the one of --dsn."""
    from rota.runtime import run  # noqa: PLC0415 - heavy, see app.py

    flags = {"dsn": dsn, "data_dir": data_dir, "host": host, "port": port, "roles": role}
    config = configuration.read(flags, file=file)
    run.until_signalled(config, on_started=announce, verbose=verbose)


def announce(started: "Started") -> None:
    """Say where the server is; and the first admin key, which nobody will see again."""
    if started.url is not None:
        output.say(f"Rota is at {started.url}  (API: {started.url}/docs)")
        if started.sign_in is not None:
            output.say(f"Dashboard, this link signs you in once: {started.sign_in}")
    else:
        output.say(f"Rota runs as {', '.join(started.roles)}.")
    if started.new_key is not None:
        output.say(f"The first admin key, shown only this once: {started.new_key}", style="bold")
    output.console().file.flush()
