"""`rota trigger`, `backfill`, `runs`, `why`, `history` and `audit`: what became of schedules."""

from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import completing, fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File
from rota.cli.fields import Payload
from rota.cli.naming import Name

Count = Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many to show.")]
Status = Annotated[str | None, typer.Option(help="Only those of this status, such as dead.")]
Since = Annotated[
    str,
    typer.Option("--from", help="The first instant, such as 2025-03-01 00:00; in its zone."),
]
Until = Annotated[str, typer.Option("--to", help="Up to, and without, this instant.")]
AuditSince = Annotated[
    str | None,
    typer.Option("--since", help="From this instant on, or this long ago, such as 7d; 24h unless."),
]
MaybeName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A schedule's key, name or id; all schedules without one.",
        autocompletion=completing.schedules,
    ),
]
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
    zone = str(schedule["timezone"])
    body = {"from": fields.instant(since, zone), "to": fields.instant(until, zone)}
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
    """Say what happened to a slot, and why; also of a schedule that was deleted."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find_past(client, name)
    answer: dict[str, Any] = client.get(naming.path(schedule, "why"), at=time)
    shown.reason(answer, as_json=as_json)


def history(
    name: Name,
    *,
    count: Count = 20,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show who changed a schedule, when, from where and what, the newest first.

    Also of a schedule that was deleted, until its history is.
    """
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find_past(client, name)
    page = client.get("/v1/audit", schedule=schedule["id"], limit=count)
    shown.changes(page["items"], as_json=as_json)


def audit(
    name: MaybeName = None,
    *,
    since: AuditSince = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Hold expected slots against outcomes: unexplained = 0, or the slots that are.

    Exit 1 if a slot is unexplained or an active schedule has no timer.
    """
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule_id = None if name is None else naming.find(client, name)["id"]
    records: list[dict[str, Any]] = []
    place: dict[str, Any] = {"schedule_id": schedule_id, "since": _begin(since)}
    while True:
        page = client.get("/v1/audit/slots", **place)
        for each in page["items"]:
            records += _whole(client, each)
        if page["next_cursor"] is None:
            break
        place["cursor"] = page["next_cursor"]
    shown.audited(records, as_json=as_json)
    if any(each["unexplained"] or each["has_no_timer"] for each in records):
        raise typer.Exit(1)


def _whole(client: api.Client, record: dict[str, Any]) -> list[dict[str, Any]]:
    """The record, and those that go on where it stopped."""
    parts = [record]
    while parts[-1]["more"]:
        id_, until = record["schedule_id"], parts[-1]["until"]
        parts += client.get("/v1/audit/slots", schedule_id=id_, since=until)["items"][:1]
        if parts[-1]["until"] <= until:
            break
    return parts


def _begin(since: str | None) -> str | None:
    """An instant as it was given, or so long before now."""
    if since is None:
        return None
    from rota import durations  # noqa: PLC0415 - heavy, see app.py
    from rota.clock import SystemClock  # noqa: PLC0415 - as above
    from rota.errors import InvalidInput  # noqa: PLC0415 - as above

    try:
        length = durations.parse(since)
    except (InvalidInput, ValueError):
        return since
    return (SystemClock().now() - length).isoformat()
