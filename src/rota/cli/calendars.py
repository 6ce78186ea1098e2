"""`rota calendar` and `rota ping`: dates left out, and monitors' pings, through the API."""

from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import fields as options
from rota.cli import naming, output
from rota.cli.client import Url
from rota.cli.config import DataDir, File
from rota.cli.naming import Name

CalendarName = Annotated[str, typer.Argument(metavar="NAME", help="What schedules call it.")]
Country = Annotated[
    str | None, typer.Option(help="Leave out its public holidays: two letters, such as ES.")
]
Subdivision = Annotated[
    str | None, typer.Option(help="A part of the country, with holidays of its own.")
]
Dates = Annotated[
    list[str] | None,
    typer.Option("--date", help="Leave out this date, or 2026-12-24/2026-12-31. Repeatable."),
]
Weekdays = Annotated[
    list[str] | None, typer.Option("--weekday", help="Leave out this day. Repeatable.")
]
Except = Annotated[
    list[str] | None,
    typer.Option("--except", help="Do not leave out this date or range. Repeatable."),
]
Description = Annotated[str | None, typer.Option(help="A sentence for people.")]
Failed = Annotated[bool, typer.Option("--failed", help="The work has failed.")]
Note = Annotated[str | None, typer.Option(help="A word for people.")]

app = output.commands("Keep calendars: dates on which schedules do not fire.")

_SHOWN = 10


@app.command("set")
def set_(
    name: CalendarName,
    *,
    country: Country = None,
    subdivision: Subdivision = None,
    date: Dates = None,
    weekday: Weekdays = None,
    except_: Except = None,
    description: Description = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a calendar, or make it anew: its schedules are armed by it from now on."""
    body = options.given(
        country=country,
        subdivision=subdivision,
        dates=date,
        weekdays=weekday,
        except_dates=except_,
        description=description,
    )
    client = api.connect(url=server, data_dir=data_dir, file=file)
    saved: dict[str, Any] = client.put(_path(name), body)
    _show(saved, as_json=as_json)
    if not as_json and saved["rearmed"]:
        output.note(f"{saved['rearmed']} schedules are armed by it from now on.")


@app.command("list")
def list_(
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List the calendars."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    calendars = list(client.items("/v1/calendars"))
    if as_json:
        output.print_json(calendars)
    elif not calendars:
        output.say("There are no calendars; `rota calendar set NAME --country ES` makes one.")
    else:
        rows = [(each["name"], _made_of(each), str(each["schedules"])) for each in calendars]
        output.table(rows, headers=("name", "leaves out", "schedules"))


@app.command()
def show(
    name: CalendarName,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show a calendar, and the next dates that it leaves out."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    _show(client.get(_path(name)), as_json=as_json)


@app.command()
def delete(
    name: CalendarName,
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Delete a calendar that no schedule has."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    client.delete(_path(name))
    output.done({"deleted": name}, f"{name} is deleted.", as_json=as_json)


def ping(
    name: Name,
    *,
    failed: Failed = False,
    note: Note = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Say that a monitor's work is done, or has failed."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name)
    body = options.given(status="failed" if failed else None, note=note)
    done: dict[str, Any] = client.post(naming.path(schedule, "ping"), body or None)
    if as_json:
        output.print_json(done)
        return
    counts = f"for {done['slot']}" if done["counted"] else "for a slot that has its outcome already"
    awaited = done["expected_at"]
    following = f"; the next is expected at {awaited}" if awaited else ""
    output.say(f"{schedule['name']} is {done['monitor_state']}: a ping {counts}{following}.")


def _path(name: str) -> str:
    return f"/v1/calendars/{api.segment(name)}"


def _show(calendar: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json(calendar)
        return
    output.say(f"{calendar['name']} leaves out {_made_of(calendar)}.", style="bold")
    rows = [(each["date"], each["name"] or "") for each in calendar["upcoming"][:_SHOWN]]
    if rows:
        output.table(rows)


def _made_of(calendar: dict[str, Any]) -> str:
    place = ", ".join(filter(None, (calendar["subdivision"], calendar["country"])))
    said = [f"the holidays of {place}"] if place else []
    said += [f"every {day}" for day in calendar["weekdays"]]
    if calendar["dates"]:
        said.append(_some(calendar["dates"]))
    kept = f", but not {_some(calendar['except_dates'])}" if calendar["except_dates"] else ""
    return ", ".join(said) + kept


def _some(dates: list[str]) -> str:
    return ", ".join(dates[:3]) + (f" and {len(dates) - 3} more" if len(dates) > 3 else "")
