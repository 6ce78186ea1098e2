"""The program: every command, registered in one place, and the way out for errors."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from rota.cli import (
    apply,
    calendars,
    channels,
    circuits,
    config,
    dead,
    demo,
    doctor,
    figures,
    importing_python,
    keys,
    logs,
    migrate,
    output,
    pausing,
    runs,
    schedules,
    secrets,
    serve,
    sign_in,
    signing,
    tenants,
    when,
    worker,
)
from rota.errors import RotaError
from rota.version import __version__

app = output.commands("A distributed job scheduler on PostgreSQL.", name="rota")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rota {__version__}")
        raise typer.Exit


@app.callback()
def rota(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A distributed job scheduler on PostgreSQL."""


# One line per command or group, in the order of `rota --help`. Each lives in its own file and
# imports what is heavy (the database, the engine) inside the command, so that all start quickly.
app.command()(serve.serve)
app.command()(demo.demo)
app.command()(sign_in.sign_in)
app.command()(worker.worker)
app.command()(schedules.add)
app.command("list")(schedules.list_)
app.command()(schedules.show)
app.command()(schedules.edit)
app.command()(pausing.pause)
app.command()(pausing.resume)
app.command()(schedules.delete)
app.command()(apply.plan)
app.command()(apply.apply)
app.command()(apply.export)
app.add_typer(importing_python.app, name="import")
app.command()(runs.trigger)
app.command()(runs.backfill)
app.command()(runs.runs)
app.command()(logs.logs)
app.command()(runs.why)
app.command()(runs.history)
app.command()(runs.audit)
app.command()(dead.cancel)
app.command()(dead.replay)
app.add_typer(dead.app, name="dead")
app.command("next")(when.next_)
app.command()(when.explain)
app.command()(calendars.ping)
app.add_typer(calendars.app, name="calendar")
app.command()(signing.signing)
app.add_typer(secrets.app, name="secret")
app.add_typer(keys.app, name="key")
app.add_typer(tenants.app, name="tenant")
app.add_typer(circuits.app, name="circuits")
app.add_typer(channels.app, name="channel")
app.command()(channels.alerts)
app.command()(figures.stats)
app.command()(figures.cluster)
app.command()(migrate.migrate)
app.command()(doctor.doctor)
app.add_typer(config.app, name="config")


def main() -> None:
    """Run the command line. An error that a person can cause is a sentence and exit code 1.

    So is what the system refuses (a full disk, a folder of somebody else): it names the file.
    """
    output.prepare()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        # A command may have something to tidy up: a terminal without echo, a hidden cursor.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app(prog_name="rota")
    except KeyboardInterrupt:
        sys.exit(130)
    except (RotaError, OSError) as error:
        output.fail(error)
        sys.exit(1)
