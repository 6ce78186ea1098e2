"""`rota channel`: where to be told of trouble. `rota alerts`: the trouble there is."""

import sys
import threading
from typing import Annotated, Any, cast

import typer

from rota.cli import client as api
from rota.cli import output, shown
from rota.cli.config import DataDir, File
from rota.errors import CallerError, InvalidInput

Name = Annotated[str, typer.Argument(metavar="NAME", help="The channel's name or id.")]
Address = Annotated[
    str | None,
    typer.Argument(
        metavar="[URL]",
        help="https://… or a URL of apprise. It holds credentials, and others on this machine can "
        "see a command line: better give it on stdin.",
    ),
]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        help="What to hear of: dead, missed, overdue, recovered (these unless given), succeeded, "
        "failing, slow, installation. Again for more.",
    ),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only schedules with this tag. Again for more.")
]
Enabled = Annotated[bool | None, typer.Option("--enable/--disable", help="Turn it on or off.")]

app = output.commands("Keep channels: where to be told of trouble.")
_PATIENCE_SECONDS = 15.0
_LOOK_SECONDS = 0.3


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    url: Address = None,
    *,
    event: Events = None,
    tag: Tags = None,
    enable: Enabled = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a channel; `rota channel test NAME` shows whether it works."""
    fields = _fields(url=url or _asked(name), events=event, tags=tag, enabled=enable)
    client = api.connect(url=server, data_dir=data_dir, file=file)
    _show(client.post("/v1/channels", {"name": name, **fields}), as_json=as_json)


@app.command("list")
def list_(
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List the channels."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = list(client.items("/v1/channels"))
    if as_json:
        output.print_json(found)
    elif not found:
        output.say("There are no channels; `rota channel add NAME` makes one.")
    else:
        rows = [
            (
                str(each["name"]),
                str(each["url"]),
                ", ".join(each["events"]),
                ", ".join(each["tags"]),
                "on" if each["enabled"] else "off",
                str(each["last_error"] or ""),
            )
            for each in found
        ]
        headers = ("name", "url", "events", "tags", "is", "last error")
        output.table(rows, headers=headers)


@app.command()
def show(
    name: Name,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show one channel."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    _show(_find(client, name), as_json=as_json)


@app.command()
def edit(
    name: Name,
    *,
    rename: Annotated[str | None, typer.Option(help="A new name.")] = None,
    new_url: Annotated[
        bool, typer.Option("--url", help="Give it another URL: asked for, or read from stdin.")
    ] = False,
    event: Events = None,
    tag: Tags = None,
    enable: Enabled = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Change what is given."""
    url = _asked(name) if new_url else None
    fields = _fields(name=rename, url=url, events=event, tags=tag, enabled=enable)
    if not fields:
        raise InvalidInput("expected something to change; `rota channel edit --help` says what")
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = _find(client, name)
    _show(client.patch(f"/v1/channels/{found['id']}", fields), as_json=as_json)


@app.command()
def delete(
    name: Name,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Delete a channel, with what had still to be said on it."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = _find(client, name)
    client.delete(f"/v1/channels/{found['id']}")
    output.done({"deleted": found["id"]}, f"{found['name']} is deleted.", as_json=as_json)


@app.command("test")
def try_(
    name: Name,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Say something on a channel, and wait to see whether it arrives."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = _find(client, name)
    said = _awaited(client, found, client.post(f"/v1/channels/{found['id']}/test"))
    if as_json:
        output.print_json(said)
    elif said["status"] == "sent":
        output.say(f"{found['name']} was told.")
    if said["status"] == "pending":
        raise CallerError("no worker has come for it yet: is one running? (`rota cluster`)")
    if said["status"] != "sent":
        raise CallerError(f"{found['name']} could not be told: {said['error']}")


def alerts(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are over, of the last 30 days.")
    ] = False,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show the trouble there is."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    query = {} if everything else {"open": "true"}
    found = list(client.items("/v1/alerts", **query))
    if as_json:
        output.print_json(found)
        return
    if not found:
        output.say("There is no trouble.")
        return
    rows = [
        (
            str(each["kind"]),
            str(each["schedule_name"] or each["subject"]),
            str(each["count"]),
            shown.instant(each["opened_at"]),
            shown.instant(each["closed_at"]),
            str(each["detail"]),
        )
        for each in found
    ]
    output.table(rows, headers=("kind", "about", "count", "since", "over", "detail"))


def _find(client: api.Client, name: str) -> dict[str, Any]:
    found = list(client.items("/v1/channels"))
    for each in found:
        if name in {each["id"], each["name"]}:
            return each
    names = ", ".join(str(each["name"]) for each in found) or "none"
    raise CallerError(f"expected a channel's name or id, got {name!r}; there are {names}")


def _awaited(client: api.Client, channel: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    from rota.clock import SystemClock  # noqa: PLC0415 - heavy, see app.py

    clock = SystemClock()
    until = clock.monotonic() + _PATIENCE_SECONDS
    while said["status"] == "pending" and clock.monotonic() < until:
        threading.Event().wait(_LOOK_SECONDS)
        page = client.get(f"/v1/channels/{channel['id']}/notifications", limit=50)
        said = next((each for each in page["items"] if each["id"] == said["id"]), said)
    return said


def _fields(**given: object) -> dict[str, object]:
    return {name: value for name, value in given.items() if value not in (None, [])}


def _asked(name: str) -> str:
    """From stdin, without the end of its last line; or asked for, when that is a terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.read().strip()
    return typer.prompt(f"URL of {name}", hide_input=True)


def _show(channel: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json(channel)
        return
    rows = [
        (name.replace("_", " "), _cell(value))
        for name, value in channel.items()
        if value not in (None, [], "")
    ]
    output.table(rows)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in cast("list[object]", value))
    return str(value)
