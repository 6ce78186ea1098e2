"""`rota trigger`, `backfill`, `runs` and `why`: a schedule's firings, through the API."""

from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File
from rota.cli.fields import Payload
from rota.cli.naming import Name

Count = Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many to show.")]
Status = Annotated[str | None, typer.Option(help="Only those of this status, such as dead.")]
Since = Annotated[
    str, typer.Option("--from", help="The first instant, such as 2025-03-01T00:00:00Z.")
]
Until = Annotated[str, typer.Option("--to", help="Up to, and without, this instant.")]
Time = Annotated[
    str, typer.Argument(metavar="TIME", help="The slot, such as 2025-03-09T09:00; in its zone.")
]


def trigger(
    name: Name,
    *,
    payload: Payload = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Run a schedule now, once, beside its own slots."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name)
    firing = client.post(naming.path(schedule, "trigger"), fields.payload(payload) or None)
    shown.firing(firing, as_json=as_json)


def runs(
    name: Name,
    *,
    count: Count = 20,
    status: Status = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show a schedule's firings, the newest first."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name)
    page = client.get(naming.path(schedule, "firings"), limit=count, status=status)
    shown.firings(page["items"], as_json=as_json)


def backfill(
    name: Name,
    *,
    since: Since,
    until: Until,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Fire the slots of a past range now, one after another."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name)
    body = {"from": since, "to": until}
    with output.working("Backfilling …"):
        filled: dict[str, Any] = client.post(naming.path(schedule, "backfill"), body)
    if as_json:
        output.print_json(filled)
        return
    shown.firings(filled["items"], as_json=False)
    output.note(f"{filled['created']} firings; `rota runs {name}` shows what becomes of them.")


def why(
    name: Name,
    time: Time,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Say what happened to a slot, and why."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name)
    answer: dict[str, Any] = client.get(naming.path(schedule, "why"), at=time)
    shown.reason(answer, as_json=as_json)
