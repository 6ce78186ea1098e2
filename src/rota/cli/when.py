"""`rota next` and `rota explain`: what a schedule would mean, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import fields, output
from rota.cli.client import Url  # noqa: TC001 - read at run time, by typer
from rota.cli.config import DataDir, File  # noqa: TC001 - as above

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.preview import Slot
    from rota.triggers.trigger import Trigger

When = Annotated[
    str,
    typer.Argument(
        metavar="WHEN", help="English, cron, an interval such as 5m, an instant or an RRULE."
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="UTC, an IANA name or ±HH:MM. UTC unless said."),
]
Count = Annotated[
    int, typer.Option("-n", "--count", min=1, max=10_000, help="How many instants to show.")
]
After = Annotated[
    str | None,
    typer.Option(metavar="INSTANT", help="Start after this instant, instead of after now."),
]


def next_(
    when: When,
    tz: Zone = None,
    count: Count = 10,
    after: After = None,
    *,
    calendar: fields.Calendar = None,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    json: output.Json = False,
) -> None:
    """Show the next instants in the zone and in UTC, with a note at every clock change.

    Without a server; but a calendar is kept by one, which is then asked.
    """
    from rota.triggers.limits import require_future  # noqa: PLC0415 - started late, see app.py
    from rota.triggers.preview import preview  # noqa: PLC0415

    start = _now()
    trigger = _read(when, tz, start)
    if calendar is not None:
        asked = fields.given(when=when, timezone=tz, calendar=calendar, after=after, count=count)
        client = api.connect(url=server, data_dir=data_dir, file=file)
        _show_answer(client.post("/v1/preview", asked), trigger, as_json=json)
        return
    if after is not None:
        # In the zone of WHEN, which may be named in it; "tomorrow" is then counted from there.
        start = _instant(after, trigger.timezone)
        trigger = _read(when, tz, start)
    require_future(trigger, start)
    slots = preview(trigger, after=start, count=count)
    if json:
        output.print_json(_described(trigger, start) | {"slots": [_slot(slot) for slot in slots]})
        return
    _show(trigger)
    _show_slots(trigger, slots)
    # A note says what a clock change does where it happens: once is enough.
    _show_warnings(trigger, start, clock_changes=not any(slot.note for slot in slots))


def _show_answer(answer: dict[str, Any], trigger: Trigger, *, as_json: bool) -> None:
    """What a server says of the next slots, as if it were said here."""
    from datetime import datetime  # noqa: PLC0415 - started late, see app.py

    from rota.triggers.preview import Slot  # noqa: PLC0415

    if as_json:
        output.print_json(answer)
        return
    output.say(answer["explanation"], style="bold")
    slots = [
        Slot(
            datetime.fromisoformat(each["utc"]), datetime.fromisoformat(each["local"]), each["note"]
        )
        for each in answer["slots"]
    ]
    _show_slots(trigger, slots)
    for warning in answer["warnings"]:
        output.say(f"! {warning}", style="yellow")


def explain(when: When, tz: Zone = None, *, json: output.Json = False) -> None:
    """Say in plain English what WHEN means."""
    start = _now()
    trigger = _read(when, tz, start)
    if json:
        output.print_json(_described(trigger, start))
        return
    _show(trigger)
    _show_warnings(trigger, start)


def _now() -> datetime:
    from rota.clock import SystemClock  # noqa: PLC0415 - as above

    return SystemClock().now().replace(microsecond=0)


def _instant(text: str, timezone: str) -> datetime:
    from datetime import datetime  # noqa: PLC0415 - as above

    return datetime.fromisoformat(fields.instant(text, timezone))


def _read(when: str, tz: str | None, now: datetime) -> Trigger:
    from rota.triggers.parse import parse  # noqa: PLC0415 - as above

    return parse(when, tz, now=now)


def _described(trigger: Trigger, now: datetime) -> dict[str, object]:
    from rota.triggers.english import explain as in_english  # noqa: PLC0415 - as above
    from rota.triggers.warnings import warnings  # noqa: PLC0415

    return {
        "explanation": in_english(trigger),
        "timezone": trigger.timezone,
        "signature": trigger.signature,
        "warnings": warnings(trigger, after=now),
    }


def _slot(slot: Slot) -> dict[str, str | None]:
    utc = slot.instant.isoformat().replace("+00:00", "Z")
    return {"local": slot.local.isoformat(), "utc": utc, "note": slot.note}


def _show(trigger: Trigger) -> None:
    from rota.triggers.english import explain as in_english  # noqa: PLC0415 - as above

    output.say(in_english(trigger), style="bold")


def _show_slots(trigger: Trigger, slots: list[Slot]) -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    in_utc = trigger.timezone == "UTC"
    noted = any(slot.note for slot in slots)
    seconds = any(slot.instant.second or slot.instant.microsecond for slot in slots)
    clock = "%H:%M:%S" if seconds else "%H:%M"
    rows: list[list[str | Text]] = []
    for number, slot in enumerate(slots, 1):
        row: list[str | Text] = [f"{number:>{len(str(len(slots)))}}"]
        row.append(f"{slot.local:%a %Y-%m-%d {clock}} {_offset(slot)}".rstrip())
        row += [] if in_utc else [Text(f"{slot.instant:%Y-%m-%d {clock}}", style="dim")]
        row += [Text(slot.note or "", style="yellow")] if noted else []
        rows.append(row)
    headers = ["", trigger.timezone, *([] if in_utc else ["UTC"]), *([""] if noted else [])]
    output.table(rows, headers=headers)


def _offset(slot: Slot) -> str:
    return slot.local.isoformat()[-6:] if slot.local.utcoffset() else ""


def _show_warnings(trigger: Trigger, now: datetime, *, clock_changes: bool = True) -> None:
    from rota.triggers.warnings import warnings  # noqa: PLC0415 - as above

    for warning in warnings(trigger, after=now, clock_changes=clock_changes):
        output.say(f"! {warning}", style="yellow")
