"""What commands print with, so that all of them look alike.

Colour and wrapping are for a terminal (and `NO_COLOR` is honoured); in a pipe the same words come
plain, one record per line, never cut. Results go to stdout, everything else to stderr. Text from
outside is always printed as it is: `[red]` in a schedule's name is a name.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from rota.errors import BugError, InvalidConfig, RotaError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from rich.console import Console
    from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

# No line of ours is this long: in a pipe nothing is wrapped or cut.
_PIPE_WIDTH = 100_000


@cache
def console(*, stderr: bool = False) -> Console:
    """The console for results, or for messages. Made late: rich is slow to import."""
    from rich.console import Console  # noqa: PLC0415 - `rota --version` does not need it

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    # Rich would only drop the colours and keep bold and dim; people who set this want neither.
    system = None if os.environ.get("NO_COLOR") else "auto"
    return Console(
        stderr=stderr, width=width, color_system=system, highlight=False, markup=False, emoji=False
    )


def commands(help_: str, *, name: str | None = None) -> typer.Typer:
    """A group of commands that shows its help in the way of the rest."""
    return typer.Typer(
        name=name,
        help=help_,
        no_args_is_help=True,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        # Ours are caught in `main`; a traceback is for a fault in Rota and is better plain.
        pretty_exceptions_enable=False,
    )


def prepare() -> None:
    """Print what a narrow encoding cannot show as escapes, instead of failing half-way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, style: str | None = None) -> None:
    """One line of result, however long: a link cut in two could not be opened."""
    console().print(text, style=style, soft_wrap=True)


def is_terminal() -> bool:
    """Whether results are seen by a person, and not kept in a file or a log."""
    return sys.stdout.isatty()


def done(record: object, text: str, *, as_json: bool) -> None:
    """What was done: a record for programs, a line for people."""
    if as_json:
        print_json(record)
    else:
        say(text)


@contextmanager
def working(text: str) -> Generator[None]:
    """Show on a terminal that something goes on which cannot be counted."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield
        return
    with out.status(text):
        yield


def note(text: str) -> None:
    """One line beside the result, on stderr."""
    console(stderr=True).print(text, style="dim")


def table(rows: Iterable[Sequence[str | Text]], *, headers: Sequence[str] = ()) -> None:
    """Rows with their columns aligned; long cells wrap within their column on a terminal."""
    from rich.table import Table  # noqa: PLC0415 - see console

    grid = Table(box=None, show_header=bool(headers), pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        grid.add_column(header, header_style="dim", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    out = console()
    if out.is_terminal:
        out.print(grid)
        return
    with out.capture() as capture:
        out.print(grid)
    print(*(line.rstrip() for line in capture.get().splitlines()), sep="\n")


def print_json(value: object) -> None:
    """The value as JSON, for programs: no colour, no wrapping, keys as they are."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def fail(error: RotaError | OSError) -> None:
    """Say on stderr what went wrong, in the error's own words."""
    out = console(stderr=True)
    if isinstance(error, InvalidConfig):
        count = len(error.problems)
        out.print(f"The configuration has {count} problem{'s' * (count > 1)}:", style="bold red")
        for problem in error.problems:
            out.print(f"  {problem}")
        return
    out.print(_labelled("Error: ", _words(error)))
    if isinstance(error, BugError):
        out.print("This is a fault in Rota itself; please report it with what you did.")


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'no access').lower()}"
    return str(error)


def _labelled(label: str, text: str) -> Text:
    from rich.text import Text  # noqa: PLC0415 - see console

    return Text.assemble((label, "bold red"), text)
