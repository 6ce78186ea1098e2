"""`rota import crontab`: the lines of a crontab as schedules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota.cli import apply as applying
from rota.cli import client as api
from rota.cli import output
from rota.cli.client import Url  # noqa: TC001 - typer reads the annotations
from rota.cli.config import DataDir, File  # noqa: TC001 - as above
from rota.cli.fields import Tz  # noqa: TC001 - as above
from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.cli.declare.problems import Place
    from rota.library.importers.crontab.entries import Imported

Crontab = Annotated[str, typer.Argument(metavar="FILE", help="A crontab; - for stdin.")]
System = Annotated[
    bool, typer.Option("--system", help="With a sixth column, the user: /etc/crontab.")
]
TargetUrl = Annotated[
    str | None, typer.Option("--target-url", metavar="URL", help="Who is sent the commands.")
]
Task = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="The task that is given the commands.")
]
Owner = Annotated[
    str | None, typer.Option(help="Who owns the schedules; the file's name unless said.")
]
Apply = Annotated[
    bool,
    typer.Option("--apply/--dry-run", help="Make the schedules; or print YAML for `rota apply`."),
]

app = output.commands("Bring schedules from elsewhere.")


@app.callback()
def group() -> None:
    """Bring schedules from elsewhere."""


@app.command()
def crontab(
    crontab: Crontab,
    *,
    system: System = False,
    target_url: TargetUrl = None,
    task: Task = None,
    tz: Tz = None,
    owner: Owner = None,
    apply: Apply = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Turn a crontab into schedules; each line that cannot be taken is reported, and exits 1."""
    from rota.library.importers.crontab import entries  # noqa: PLC0415 - late, see app.py

    if target_url is not None and task is not None:
        raise typer.BadParameter("expected one of --target-url and --task", param_hint="--task")
    name = "stdin" if crontab == "-" else crontab
    owner = owner or ("crontab" if crontab == "-" else Path(crontab).stem)
    target = entries.Target(url=target_url, task=task)
    read = entries.read(
        _text(crontab), owner=owner, target=target, now=applying.now(), timezone=tz, system=system
    )
    document = {"owner": owner, "schedules": read.entries}
    _report(read, name)
    if apply:
        _apply(
            document,
            read,
            name,
            api.connect(url=server, data_dir=data_dir, file=file),
            as_json=as_json,
        )
    else:
        show(document, as_json=as_json)
    if read.refused:
        raise typer.Exit(1)


def show(document: dict[str, Any], *, as_json: bool) -> None:
    """Print what `rota apply` takes."""
    from rota.cli.declare import yamls  # noqa: PLC0415 - late, see app.py

    if as_json:
        output.print_json(document)
    else:
        print(yamls.dump([document]), end="")


def _apply(
    document: dict[str, Any], read: Imported, name: str, client: api.Client, *, as_json: bool
) -> None:
    from rota.cli.declare.problems import Place  # noqa: PLC0415 - late, see app.py

    places = [Place(file=name, line=number) for number in read.numbers]
    make(document, places, Place(file=name), client, as_json=as_json)


def make(
    document: dict[str, Any],
    places: Sequence[Place],
    whole_place: Place,
    client: api.Client,
    *,
    as_json: bool,
) -> None:
    """Make the schedules of a document, as `rota apply` does without pruning."""
    from rota.cli.declare.documents import Document, Entry, Read  # noqa: PLC0415 - late, see app.py

    placed = [
        Entry(place=place, fields=entry)
        for place, entry in zip(places, document["schedules"], strict=True)
    ]
    whole = Document(place=whole_place, owner=document["owner"], defaults={}, entries=tuple(placed))
    plan = applying.planned(
        client, Read((whole,)), now=applying.now(), prune=False, take_over=False
    )
    applying.carry_out(client, plan, as_json=as_json)


def _report(read: Imported, name: str) -> None:
    out = output.console(stderr=True)
    for line in read.refused:
        out.print(f"{name}:{line.number}: not taken: {line.reason}")
    for number, note in read.notes:
        output.note(f"{name}:{number}: {note}")
    if read.without_zone:
        output.note(
            "The crontab names no zone (CRON_TZ), so its times are taken as UTC; --tz says another."
        )
    taken, refused = len(read.entries), len(read.refused)
    output.note(f"{taken} taken, {refused} not taken.")


def _text(crontab: str) -> str:
    content = sys.stdin.buffer.read() if crontab == "-" else Path(crontab).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{crontab}: expected text in UTF-8") from error
