"""`rota add`, `list`, `show`, `edit` and `delete`: schedules, through the API."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File
from rota.cli.fields import (
    After,
    Attempts,
    Calendar,
    CeleryTask,
    Description,
    Grace,
    Headers,
    Key,
    Method,
    Misfire,
    Monitor,
    On,
    OnDemand,
    Others,
    Overlap,
    Payload,
    Priority,
    Queue,
    Steps,
    Stream,
    Tags,
    Task,
    Timeout,
    Tz,
)
from rota.cli.naming import Name, Tag

AnyWhen = Annotated[
    str | None,
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
Count = Annotated[int, typer.Option("-n", "--count", min=1, help="How many to show.")]
Search = Annotated[
    str | None,
    typer.Option("-q", "--search", help="Only those with this text, from the beginning of a word."),
]

_MAX_PAGE = 1_000
_RUNNING = 10
"""Of what runs at this moment, `show` shows so many."""


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")],
    when: AnyWhen = None,
    url: Target = None,
    *,
    tz: Tz = None,
    payload: Payload = None,
    task: Task = None,
    stream: Stream = None,
    celery_task: CeleryTask = None,
    steps: Steps = None,
    after: After = None,
    on: On = None,
    on_demand: OnDemand = False,
    monitor: Monitor = None,
    grace: Grace = None,
    calendar: Calendar = None,
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
    event = fields.event(after, on, on_demand=on_demand)
    if event and url is None:
        # Without a WHEN, what comes after the name is the URL.
        when, url = None, when
    event |= fields.monitor(monitor, grace)
    _check(when, event, (url, task, stream, celery_task, steps))
    body = (
        {"name": name}
        | (fields.trigger(when) if when is not None else {})
        | event
        | fields.steps(steps)
        | fields.given(calendar=calendar)
        | fields.timezone(tz)
        | fields.given(target_url=url, job_type=task, queue=queue, key=key)
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


def _check(when: str | None, event: dict[str, Any], targets: tuple[str | None, ...]) -> None:
    """A schedule has a WHEN, or something else it waits for, and a target; a monitor has none."""
    monitor = "monitor" in event
    if monitor and (when is not None or any(targets)):
        raise typer.BadParameter(
            "expected neither WHEN nor URL with --monitor, which waits and calls nothing",
            param_hint="--monitor",
        )
    if event and when is not None:
        raise typer.BadParameter("expected none beside --after or --on-demand", param_hint="WHEN")
    if not event and when is None:
        wrong = "expected it, or --after KEY, --on-demand or --monitor WHEN"
        raise typer.BadParameter(wrong, param_hint="WHEN")
    if not monitor and sum(each is not None for each in targets) != 1:
        raise typer.BadParameter(
            "expected a URL, --task, --stream, --celery-task or --steps, and one of them only",
            param_hint="URL",
        )


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
    if tag is not None and not items and not (status or search):
        output.note(naming.tag_hint(client, tag))
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
    client = _client(server, data_dir, file)
    schedule = naming.find(client, name)
    if schedule.get("monitor") is not None:
        schedule = client.get(naming.path(schedule))  # With the URL that pings it.
    shown.schedule(schedule, as_json=as_json)
    if not as_json:
        running = client.get(naming.path(schedule, "firings"), status="running", limit=_RUNNING)
        shown.running(running["items"])


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
    calendar: Calendar = None,
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
    """Change a schedule; what is not named stays. It counts from now on.

    The key stays, too, also one that was derived from the name and the old time.
    """
    client = _client(server, data_dir, file)
    schedule = naming.find(client, name)
    body = (
        (fields.trigger(when) if when is not None else {})
        | fields.timezone(tz)
        | fields.given(target_url=target, job_type=task, queue=queue)
        | fields.given(stream=stream, celery_task=celery_task, calendar=calendar)
        | fields.given(name=new_name, description=description, tags=tag, method=method)
        | fields.given(overlap_policy=overlap, misfire_policy=misfire, priority=priority)
        | fields.given(timeout_seconds=timeout, max_attempts=attempts)
        | fields.payload(payload)
        | fields.headers(header)
        | fields.others(other)
    )
    if not body:
        raise typer.BadParameter("expected at least one thing to change", param_hint="NAME")
    changed = client.patch(naming.path(schedule), body)
    shown.schedule(changed, as_json=as_json)
    if _names_the_old(schedule, body):
        output.note(
            f"The key stays {changed['key']!r}, by which others refer to this schedule; it still "
            "names what the schedule was made with."
        )


def _names_the_old(schedule: dict[str, Any], changes: dict[str, Any]) -> bool:
    """Whether its key was derived from something that these changes change."""
    from rota.schedules import names  # noqa: PLC0415 - started late, see app.py

    derived = str(schedule["key"]).startswith(f"{schedule['name']}::")
    return derived and not changes.keys().isdisjoint((*names.TRIGGERS, "timezone", "name"))


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
    output.done(
        {"id": schedule["id"], "key": schedule["key"], "deleted": True},
        f"Deleted {schedule['name']} ({schedule['id']}).",
        as_json=as_json,
    )


def _client(server: str | None, data_dir: str | None, file: Path | None) -> api.Client:
    return api.connect(url=server, data_dir=data_dir, file=file)
