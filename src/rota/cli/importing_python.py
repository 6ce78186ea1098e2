"""`rota import apscheduler` and `rota import celery`: schedules that a program has in its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rota.cli import client as api
from rota.cli import importing, output
from rota.cli.client import Url  # noqa: TC001 - typer reads the annotations
from rota.cli.config import DataDir, File  # noqa: TC001 - as above
from rota.cli.fields import Tz  # noqa: TC001 - as above
from rota.cli.importing import Apply  # noqa: TC001 - as above

if TYPE_CHECKING:
    from rota.library.importers import Imported

Scheduler = Annotated[
    str, typer.Argument(metavar="MODULE:SCHEDULER", help="Such as shop.jobs:scheduler.")
]
Beat = Annotated[
    str,
    typer.Argument(metavar="MODULE:APP", help="Such as proj.celery:app; or a beat_schedule."),
]
Tasks = Annotated[
    bool, typer.Option("--tasks", help="Call Rota tasks of these names, and not Celery's workers.")
]
Queue = Annotated[str | None, typer.Option(metavar="NAME", help="The queue of the tasks.")]
Owner = Annotated[
    str | None, typer.Option(help="Who owns the schedules; what was named unless said.")
]

app = importing.app


@app.command()
def apscheduler(
    scheduler: Scheduler,
    *,
    queue: Queue = None,
    owner: Owner = None,
    apply: Apply = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Turn the jobs of APScheduler 3 into schedules; each that cannot be taken is reported."""
    from rota.library import finding  # noqa: PLC0415 - late, see app.py
    from rota.library.importers import from_apscheduler  # noqa: PLC0415

    found = finding.located(scheduler, "shop.jobs:scheduler")
    done = from_apscheduler(found, queue=queue)
    client = api.connect(url=server, data_dir=data_dir, file=file) if apply else None
    _finish(done, scheduler, owner, client, as_json=as_json)


@app.command()
def celery(
    beat: Beat,
    *,
    tasks: Tasks = False,
    tz: Tz = None,
    owner: Owner = None,
    apply: Apply = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Turn Celery's beat_schedule into schedules; each that cannot be taken is reported."""
    from rota.library import finding  # noqa: PLC0415 - late, see app.py
    from rota.library.importers import from_celery_beat  # noqa: PLC0415

    found = finding.located(beat, "proj.celery:app")
    done = from_celery_beat(found, to="rota" if tasks else "celery", timezone=tz)
    client = api.connect(url=server, data_dir=data_dir, file=file) if apply else None
    _finish(done, beat, owner, client, as_json=as_json)


def _finish(
    done: Imported, path: str, owner: str | None, client: api.Client | None, *, as_json: bool
) -> None:
    from rota.cli.declare.problems import Place  # noqa: PLC0415 - late, see app.py

    document = {"owner": owner or path, "schedules": done.schedules}
    out = output.console(stderr=True)
    for each in done.refused:
        out.print(f"{path}: {each.name}: not taken: {each.reason}")
    for each in done.notes:
        output.note(f"{path}: {each.name}: {each.reason}")
    output.note(f"{len(done.schedules)} taken, {len(done.refused)} not taken.")
    if client is None:
        importing.show(document, as_json=as_json)
    else:
        place = Place(file=path)
        importing.make(document, [place] * len(done.schedules), place, client, as_json=as_json)
    if done.refused:
        raise typer.Exit(1)
