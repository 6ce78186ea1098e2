"""`rota plan`, `rota apply` and `rota export`: schedules that are declared in files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rota.cli import client as api
from rota.cli import output
from rota.cli.client import Url  # noqa: TC001 - as above
from rota.cli.config import DataDir, File  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime

    from rota.cli.declare.carry_out import Done
    from rota.cli.declare.documents import Read
    from rota.cli.declare.plan import Plan

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE…", help="YAML or JSON; a folder for all in it; - for stdin."),
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete what the files own and no longer have.")
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Take schedules that another file owns.")
]
Owner = Annotated[
    str | None, typer.Option(help="Who owns them, where a file does not say; else its name.")
]
Days = Annotated[int, typer.Option(min=0, max=366, help="Compare the fire times of so many days.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 when there are changes.")]
Tag = Annotated[str | None, typer.Option(help="Only those with this tag.")]
Status = Annotated[str | None, typer.Option(help="Only active, paused or completed ones.")]
NewOwner = Annotated[
    str | None, typer.Option("--owner", help="Write them as one document of this owner.")
]

#: From so many on, a person wants to see that it goes on.
_WITH_BAR = 36


def plan(
    files: Files,
    *,
    prune: Prune = False,
    take_over: TakeOver = False,
    owner: Owner = None,
    days: Days = 7,
    exit_code: ExitCode = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show what `rota apply` would do, and which fire times come and go. Changes nothing."""
    from rota.cli.declare import documents, shown, slots  # noqa: PLC0415 - late, see app.py
    from rota.cli.declare.server import days as calendar_days  # noqa: PLC0415
    from rota.cli.declare.server import missing_secrets  # noqa: PLC0415

    start = now()
    read = documents.read(files, owner=owner)
    client = api.connect(url=server, data_dir=data_dir, file=file)
    made = planned(client, read, now=start, prune=prune, take_over=take_over)
    calendars = calendar_days(client, made.calendars, today=start.date()) if days else {}
    shifts = slots.shifts(made, now=start, days=days, calendars=calendars)
    secrets = missing_secrets(client, made)
    if as_json:
        output.print_json(shown.as_json(made, shifts, secrets))
    else:
        shown.show(made, shifts, days=days, secrets=secrets)
    if exit_code and made.size:
        raise typer.Exit(1)


def apply(
    files: Files,
    *,
    prune: Prune = False,
    take_over: TakeOver = False,
    owner: Owner = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Create and change schedules until they are as the files say; the rest is left alone."""
    from rota.cli.declare import documents  # noqa: PLC0415 - late, see app.py

    read = documents.read(files, owner=owner)
    client = api.connect(url=server, data_dir=data_dir, file=file)
    client = replace(client, agent=f"{client.agent} (apply)")
    made = planned(client, read, now=now(), prune=prune, take_over=take_over)
    carry_out(client, made, as_json=as_json)


def export(
    *,
    tag: Tag = None,
    status: Status = None,
    owner: NewOwner = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Print schedules as YAML (or JSON) that `rota apply` takes back."""
    from rota.cli.declare import exported, yamls  # noqa: PLC0415 - late, see app.py
    from rota.cli.declare.server import PAGE  # noqa: PLC0415
    from rota.cli.declare.standing import of_record  # noqa: PLC0415

    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = client.items("/v1/schedules", tag=tag, status=status, limit=PAGE)
    made = exported.documents(map(of_record, found), now=now(), owner=owner)
    if as_json:
        output.print_json(made)
    else:
        print(yamls.dump(made), end="")


def planned(client: api.Client, read: Read, *, now: datetime, prune: bool, take_over: bool) -> Plan:
    """The plan for these files; an error with all that stands in its way."""
    from rota.cli.declare import plan as plans  # noqa: PLC0415 - late, see app.py
    from rota.cli.declare import server, wanted  # noqa: PLC0415
    from rota.cli.declare.problems import InvalidDeclaration  # noqa: PLC0415

    owners = read.owners
    entries = wanted.read(read, now=now)
    if prune and not owners:
        raise typer.BadParameter(
            "expected files with an owner, as only what an owner has can be pruned: name one "
            "in the file, or give --owner",
            param_hint="--prune",
        )
    standing = server.standing(client, keys=[each.key for each in entries], owners=owners)
    made = plans.make(entries, standing, owners=owners, prune=prune, take_over=take_over)
    refused = (*made.refused, *server.missing_calendars(client, made))
    if refused:
        raise InvalidDeclaration(refused)
    return made


def carry_out(client: api.Client, plan: Plan, *, as_json: bool) -> None:
    """Do what the plan says, and say what was done; exit code 1 when some of it was refused."""
    from rota.cli.declare import carry_out as carrying  # noqa: PLC0415 - late, see app.py

    with _progress(plan.size) as advance:
        done = carrying.carry_out(client, plan, on_done=advance, wait=_wait)
    if as_json:
        output.print_json(_record(plan, done))
    else:
        _say(plan, done)
    if done.refused:
        raise typer.Exit(1)


def _say(plan: Plan, done: Done) -> None:
    from rota.cli.declare import shown  # noqa: PLC0415 - late, see app.py

    for key, warnings in done.warnings.items():
        for warning in warnings:
            output.note(f"! {key}: {warning}")
    for problem in done.refused:
        output.console(stderr=True).print(f"Refused: {problem}")
    if plan.size:
        counts = (
            f"{done.created} created, {done.changed} changed, {done.removed} deleted, "
            f"{len(plan.unchanged)} unchanged"
        )
        output.say(f"{counts}, {len(done.refused)} refused." if done.refused else f"{counts}.")
    else:
        output.say(shown.summary(plan))
    if done.kept:
        output.note(f"{done.kept} were not deleted, as something was refused: mend it, apply again")
    if (left := shown.leftovers(plan)) is not None:
        output.note(left)


def _record(plan: Plan, done: Done) -> dict[str, object]:
    return {
        "created": done.created,
        "changed": done.changed,
        "deleted": done.removed,
        "unchanged": len(plan.unchanged),
        "left": [each.key for each in plan.left],
        "refused": [
            {"file": each.place.file, "line": each.place.line, "entry": each.place.part}
            | {"message": each.message}
            for each in done.refused
        ],
        "warnings": done.warnings,
    }


@contextmanager
def _progress(total: int) -> Generator[Callable[[int], None]]:
    """A bar on a terminal, when there is something to wait for."""
    if total < _WITH_BAR:
        yield lambda _: None
        return
    from rich.progress import Progress  # noqa: PLC0415 - late, see app.py

    with Progress(console=output.console(stderr=True), transient=True) as progress:
        task = progress.add_task("Applying", total=total)
        yield lambda count: progress.advance(task, count)


def _wait(seconds: float) -> None:
    import asyncio  # noqa: PLC0415 - late, see app.py
    from datetime import timedelta  # noqa: PLC0415

    from rota.clock import SystemClock  # noqa: PLC0415

    output.note(f"The server asks to wait {seconds:.0f} s.")
    asyncio.run(SystemClock().sleep(timedelta(seconds=seconds)))


def now() -> datetime:
    """The instant that a command counts from."""
    from rota.clock import SystemClock  # noqa: PLC0415 - late, see app.py

    return SystemClock().now().replace(microsecond=0)
