"""`rota add`, `list`, `show`, `edit` and `delete`: schedules, through the API."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from rota.cli import client as api
from rota.cli import fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File
from rota.cli.fields import (
    Attempts,
    CeleryTask,
    Description,
    Headers,
    Key,
    Method,
    Misfire,
    Others,
    Overlap,
    Payload,
    Priority,
    Queue,
    Stream,
    Tags,
    Task,
    Timeout,
    Tz,
)
from rota.cli.naming import Name

When = Annotated[
    str,
    typer.Argument(
        metavar="WHEN", help="English, cron, an interval such as 5m, an instant or an RRULE."
    ),
]
NewWhen = Annotated[str | None, typer.Option("--when", metavar="WHEN", help="As for `rota add`.")]
Target = Annotated[str | None, typer.Argument(metavar="URL", help="What to call.")]
NewTarget = Annotated[str | None, typer.Option("--target", metavar="URL", help="What to call.")]
NewName = Annotated[str | None, typer.Option("--name", help="What people call it.")]
Paused = Annotated[bool, typer.Option("--paused", help="Make it, but do not start it.")]
Status = Annotated[str | None, typer.Option(help="Only active, paused or completed ones.")]
Tag = Annotated[str | None, typer.Option(help="Only those with this tag.")]
Count = Annotated[int, typer.Option("-n", "--count", min=1, help="How many to show.")]
Search = Annotated[str | None, typer.Option("-q", "--search", help="Only those that contain this.")]

_MAX_PAGE = 1_000


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")],
    when: When,
    url: Target = None,
    *,
    tz: Tz = None,
    payload: Payload = None,
    task: Task = None,
    stream: Stream = None,
    celery_task: CeleryTask = None,
    queue: Queue = None,
    key: Key = None,
    description: Description = None,
    tag: Tags = None,
    method: Method = None,
    header: Headers = None,
    overlap: Overlap = None,
    misfire: Misfire = None,
    timeout: Timeout = None,
    attempts: Attempts = None,
    priority: Priority = None,
    other: Others = None,
    paused: Paused = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a schedule: `rota add report "every weekday at 9am" https://example.com/hook`."""
    if sum(each is not None for each in (url, task, stream, celery_task)) != 1:
        raise typer.BadParameter(
            "expected a URL, --task, --stream or --celery-task, and one of them only",
            param_hint="URL",
        )
    body = (
        {"name": name}
        | fields.trigger(when, tz)
        | fields.given(timezone=tz, target_url=url, job_type=task, queue=queue, key=key)
        | fields.given(stream=stream, celery_task=celery_task)
        | fields.given(description=description, tags=tag, method=method, overlap_policy=overlap)
        | fields.given(misfire_policy=misfire, timeout_seconds=timeout, max_attempts=attempts)
        | fields.given(priority=priority, enabled=False if paused else None)
        | fields.payload(payload)
        | fields.headers(header)
        | fields.others(other)
    )
    made = _client(server, data_dir, file).post("/v1/schedules", body)
    shown.schedule(made, as_json=as_json)


def list_(
    *,
    status: Status = None,
    tag: Tag = None,
    search: Search = None,
    count: Count = 1_000,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List schedules."""
    client = _client(server, data_dir, file)
    filters = {"status": status, "tag": tag, "q": search}
    found = client.items("/v1/schedules", limit=min(count + 1, _MAX_PAGE), **filters)
    items = list(islice(found, count + 1))
    shown.schedules(items[:count], as_json=as_json)
    if len(items) > count:
        output.note(f"These are the newest {count}; there are more (-n shows more).")


def show(
    name: Name,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show all that a schedule is made of, and when it runs next."""
    shown.schedule(naming.find(_client(server, data_dir, file), name), as_json=as_json)


def edit(
    name: Name,
    *,
    when: NewWhen = None,
    target: NewTarget = None,
    new_name: NewName = None,
    tz: Tz = None,
    payload: Payload = None,
    task: Task = None,
    stream: Stream = None,
    celery_task: CeleryTask = None,
    queue: Queue = None,
    description: Description = None,
    tag: Tags = None,
    method: Method = None,
    header: Headers = None,
    overlap: Overlap = None,
    misfire: Misfire = None,
    timeout: Timeout = None,
    attempts: Attempts = None,
    priority: Priority = None,
    other: Others = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Change a schedule; what is not named stays. It counts from now on."""
    client = _client(server, data_dir, file)
    schedule = naming.find(client, name)
    body = (
        (fields.trigger(when, tz or schedule["timezone"]) if when is not None else {})
        | fields.given(timezone=tz, target_url=target, job_type=task, queue=queue)
        | fields.given(stream=stream, celery_task=celery_task)
        | fields.given(name=new_name, description=description, tags=tag, method=method)
        | fields.given(overlap_policy=overlap, misfire_policy=misfire, priority=priority)
        | fields.given(timeout_seconds=timeout, max_attempts=attempts)
        | fields.payload(payload)
        | fields.headers(header)
        | fields.others(other)
    )
    if not body:
        raise typer.BadParameter("expected at least one thing to change", param_hint="NAME")
    shown.schedule(client.patch(naming.path(schedule), body), as_json=as_json)


def delete(
    name: Name,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Delete a schedule; its history stays."""
    client = _client(server, data_dir, file)
    schedule = naming.find(client, name)
    client.delete(naming.path(schedule))
    if as_json:
        output.print_json({"id": schedule["id"], "key": schedule["key"], "deleted": True})
    else:
        output.say(f"Deleted {schedule['name']} ({schedule['id']}).")


def _client(server: str | None, data_dir: str | None, file: Path | None) -> api.Client:
    return api.connect(url=server, data_dir=data_dir, file=file)
