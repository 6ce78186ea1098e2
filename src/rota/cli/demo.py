"""`rota demo`: a server on a throw-away folder, with a few schedules that show what it does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rota.cli import output, quiet_interrupts

if TYPE_CHECKING:
    from rota.runtime.demo import Shown
    from rota.runtime.serve import Started

Seconds = Annotated[
    float | None, typer.Option(min=1, help="Stop after so many seconds, instead of at Ctrl-C.")
]
Port = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="7682 unless said, or any that is free.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the log as well.")]


def demo(*, seconds: Seconds = None, port: Port = None, verbose: Verbose = False) -> None:
    """Show Rota at work: sample schedules call an endpoint of its own, and the firings appear."""
    quiet_interrupts()
    from rota.runtime import demo as running  # noqa: PLC0415 - heavy, see app.py

    output.say("Starting PostgreSQL and Rota in a folder of their own …", style="dim")
    running.run(
        on_started=_announce,
        show=_show,
        seconds=seconds,
        port=port,
        is_terminal=output.is_terminal(),
        verbose=verbose,
    )
    output.say("Stopped; the folder is removed.", style="dim")


def _announce(started: "Started", data_dir: Path) -> None:
    from rota.runtime import handover  # noqa: PLC0415 - as above

    for line in handover.lines(url=started.url, sign_in=started.sign_in, new_key=None):
        output.say(line, style="bold")
    output.say(f"In another terminal: rota list --data-dir {data_dir}")
    output.say("Ctrl-C ends it.\n", style="dim")


def _show(shown: "Shown") -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    styles = {"succeeded": "green", "dead": "bold red"}
    line = Text(f"{shown.at:%H:%M:%S.%f}"[:-3], style="dim")
    line.append(f"  {shown.name:<12}", style="bold")
    line.append(f"{shown.status:<10}", style=styles.get(shown.status, "yellow"))
    line.append(shown.detail)
    output.console().print(line)
