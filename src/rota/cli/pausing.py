"""`rota pause` and `rota resume`: one schedule, or all of them, through the API."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import completing, fields, naming, output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File

OneName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A schedule's key, name or id; or --all.",
        autocompletion=completing.schedules,
    ),
]
All = Annotated[bool, typer.Option("--all", help="All of the tenant's schedules.")]
Tag = Annotated[
    str | None,
    typer.Option(help="With --all: only those with this tag.", autocompletion=completing.tags),
]
Reason = Annotated[str | None, typer.Option(help="Why, for people.")]
Until = Annotated[
    str | None,
    typer.Option(
        help="When to resume without being asked: an instant, or a time from now such as 2h."
    ),
]

Counts = dict[str, int]
Given = dict[str, str | None]


def pause(
    name: OneName = None,
    *,
    all_: All = False,
    tag: Tag = None,
    reason: Reason = None,
    until: Until = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Stop a schedule until it is resumed, or for a while; or all of them, together."""
    _check(name, all_=all_, tag=tag)
    body = {
        "tag": tag,
        "reason": reason,
        "until": None if until is None else fields.instant(until, from_now=True),
    }
    client = api.connect(url=server, data_dir=data_dir, file=file)
    if name is not None:
        _one(client, name, "pause", given=body, as_json=as_json)
        return
    done = _with_progress("Pausing", _again_while_more(client, "/v1/pause", body))
    if as_json:
        output.print_json(done)
        return
    _hint_at_tag(client, tag, done)
    again = f" {_schedules(done['renewed'])} had been so before." if done["renewed"] else ""
    output.say(f"Paused {_schedules(done['paused'])}.{again}")


def resume(
    name: OneName = None,
    *,
    all_: All = False,
    tag: Tag = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Let a paused schedule run again, from now on; or all that were paused together."""
    _check(name, all_=all_, tag=tag)
    client = api.connect(url=server, data_dir=data_dir, file=file)
    if name is not None:
        _one(client, name, "resume", as_json=as_json)
        return
    done = _with_progress("Resuming", _again_while_more(client, "/v1/resume", {"tag": tag}))
    if as_json:
        output.print_json(done)
        return
    _hint_at_tag(client, tag, done)
    over = f" {_schedules(done['completed'])} had no time left to run." if done["completed"] else ""
    output.say(f"Resumed {_schedules(done['resumed'])}.{over}")


def _hint_at_tag(client: api.Client, tag: str | None, done: Counts) -> None:
    if (
        tag is not None
        and not any(done.values())
        and not client.get("/v1/schedules", tag=tag, limit=1)["items"]
    ):
        output.note(naming.tag_hint(client, tag))


def _check(name: str | None, *, all_: bool, **only_all: str | None) -> None:
    if (name is not None) == all_:
        raise typer.BadParameter("expected a NAME, or --all", param_hint="NAME")
    given = [option for option, value in only_all.items() if value is not None]
    if given and not all_:
        raise typer.BadParameter(f"expected --{given[0]} with --all", param_hint=f"--{given[0]}")


def _one(
    client: api.Client, name: str, verb: str, *, given: Given | None = None, as_json: bool
) -> None:
    schedule = naming.find(client, name)
    changed: dict[str, Any] = client.post(naming.path(schedule, verb), _some(given or {}) or None)
    shown.change(changed, as_json=as_json)


def _some(given: Given) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def _again_while_more(client: api.Client, path: str, given: Given) -> Iterator[Counts]:
    """What each call has done: one works for a few seconds, the next goes on."""
    body = _some(given)
    more = True
    while more:
        answer: dict[str, Any] = client.post(path, body)
        more = answer.pop("more")
        yield answer


def _with_progress(words: str, parts: Iterator[Counts]) -> Counts:
    """The sums, with the count so far where there is a terminal to show it on."""
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415 - see app.py

    total: Counts = {}
    console = output.console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(f"{words} …", total=None)
        for part in parts:
            total = {name: total.get(name, 0) + count for name, count in part.items()}
            progress.update(task, description=f"{words} … {sum(total.values()):,}")
    return total


def _schedules(count: int) -> str:
    return f"{count:,} schedule{'s' * (count != 1)}"
