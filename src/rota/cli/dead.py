"""`rota dead list` and `replay`, `rota replay` and `rota cancel`: what failed, and what to do."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import completing, fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.cli.client import Client

app = output.commands("Dead letters: firings that failed for good.")

_BATCH = 1_000

Firing = Annotated[str, typer.Argument(metavar="FIRING", help="A firing's id, such as fir_01….")]
Firings = Annotated[
    list[str] | None, typer.Argument(metavar="FIRING…", help="Ids of firings to replay.")
]
OfSchedule = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME", help="Only those of this schedule.", autocompletion=completing.schedules
    ),
]
Schedule = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        metavar="NAME",
        help="Only those of this schedule.",
        autocompletion=completing.schedules,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(help="Only slots from this instant on, such as 2025-03-01 00:00; in UTC."),
]
Until = Annotated[str | None, typer.Option(help="Only slots before this instant.")]
Count = Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many to show.")]
All = Annotated[bool, typer.Option("--all", help="All that have no replay yet.")]
Reason = Annotated[str | None, typer.Option(help="Kept with the firing.")]


def _range(since: str | None, until: str | None) -> dict[str, str | None]:
    given = {"since": since, "until": until}
    return {name: None if text is None else fields.instant(text) for name, text in given.items()}


@app.command("list")
def list_(
    name: OfSchedule = None,
    *,
    count: Count = 20,
    since: Since = None,
    until: Until = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show dead letters, the newest slot first."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    page = client.get(
        "/v1/dead", schedule_id=_id_of(client, name), limit=count, **_range(since, until)
    )
    if not page["items"] and not as_json:
        output.say("No dead letters.")
        return
    shown.firings(page["items"], as_json=as_json)
    if page["next_cursor"] and not as_json:
        output.note(f"There are more: only the newest {count} are shown (-n shows more).")


@app.command("replay")
def replay_dead(
    firings: Firings = None,
    *,
    everything: All = False,
    schedule: Schedule = None,
    since: Since = None,
    until: Until = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Repeat dead letters: those named, or with --all every one that fits."""
    if bool(firings) == everything or (firings and (schedule or since or until)):
        hint = "expected either ids of firings, or --all with --schedule, --since or --until"
        raise typer.BadParameter(hint)
    client = api.connect(url=server, data_dir=data_dir, file=file)
    if firings:
        batches = _by_ids(client, firings)
    else:
        wanted = {"schedule_id": _id_of(client, schedule), **_range(since, until)}
        batches = _by_filter(client, wanted)
    made = _with_progress(batches, total=len(firings) if firings else None)
    if as_json:
        output.print_json({"replayed": len(made), "items": made})
    elif made:
        output.say(f"{len(made)} firing{'s' * (len(made) > 1)} will run again.")
    else:
        output.say("Nothing to replay: every dead letter that fits has a replay already.")


def replay(
    firing: Firing,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Repeat a firing that has ended: a new one, which names it."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    made = client.post(f"/v1/firings/{api.segment(firing)}/replay")
    shown.firing(made, as_json=as_json)


def cancel(
    firing: Firing,
    *,
    reason: Reason = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """End a firing that waits or runs; a request under way is broken off within a second."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    body = None if reason is None else {"reason": reason}
    answer = client.post(f"/v1/firings/{api.segment(firing)}/cancel", body)
    shown.firing(answer, as_json=as_json)


def _id_of(client: "Client", name: str | None) -> str | None:
    return None if name is None else str(naming.find(client, name)["id"])


def _by_ids(client: "Client", firings: list[str]) -> "Iterator[list[str]]":
    for at in range(0, len(firings), _BATCH):
        answer = client.post("/v1/dead/replay", {"ids": firings[at : at + _BATCH]})
        yield answer["items"]


def _by_filter(client: "Client", wanted: dict[str, str | None]) -> "Iterator[list[str]]":
    """Batch after batch: what has a replay is not taken again, so each goes on after the last."""
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    more = True
    while more:
        answer = client.post("/v1/dead/replay", {**given, "limit": _BATCH})
        yield answer["items"]
        more = answer["more"]
        if more and not answer["items"]:
            output.note("There are more, for which their schedules' queues are full: ask later.")
            return


def _with_progress(batches: "Iterator[list[str]]", *, total: int | None) -> list[str]:
    """All of it, with a bar where there is a terminal to show it on."""
    from rich.progress import Progress  # noqa: PLC0415 - started late, see app.py

    made: list[str] = []
    console = output.console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Replaying", total=total)
        for batch in batches:
            made += batch
            progress.update(task, completed=len(made))
    return made
