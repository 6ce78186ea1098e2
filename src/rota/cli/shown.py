"""Schedules and firings as commands show them: for people, or as the API's own JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

Record = dict[str, Any]

_TRIGGERS = ("cron_expr", "interval", "run_at", "rrule", "text")
_LINKS = {"succeeded": "after", "failed": "after a failure of", "finished": "after any end of"}
_FIRST = ("id", "key", "name", "status", "next_fire_at", "last_fire_at", "last_status")
_STYLES = {
    "active": "green",
    "succeeded": "green",
    "paused": "yellow",
    "skipped": "yellow",
    "missed": "yellow",
    "cancelled": "yellow",
    "retrying": "yellow",
    "dead": "bold red",
}


def schedule(record: Record, *, as_json: bool) -> None:
    """All of one schedule; what it does not use is left out."""
    if as_json:
        output.print_json(record)
        return
    rest = [name for name in record if name not in _FIRST]
    rows = [
        (name, _coloured(value) if name.endswith("status") else _cell(value))
        for name in (*_FIRST, *rest)
        if (value := record.get(name)) not in (None, "", [], {})
    ]
    output.table(rows)


def change(record: Record, *, as_json: bool) -> None:
    """What became of a schedule, in a line."""
    if as_json:
        output.print_json(record)
        return
    upcoming = record.get("next_fire_at")
    rest = f"; next at {instant(upcoming)}" if upcoming else ""
    output.say(f"{record['name']} is {record['status']}{rest}.")


def schedules(records: Iterable[Record], *, as_json: bool) -> None:
    """A line for each."""
    records = list(records)
    if as_json:
        output.print_json(records)
        return
    if not records:
        output.say("No schedules. `rota add NAME WHEN URL` makes one.")
        return
    rows = [
        (
            str(record["name"]),
            _coloured(record["status"]),
            when(record),
            instant(record.get("next_fire_at")),
            instant(record.get("last_fire_at")),
            _coloured(record.get("last_status")),
            str(record["id"]),
        )
        for record in records
    ]
    output.table(rows, headers=("name", "status", "when", "next", "last", "", "id"))


def firing(record: Record, *, as_json: bool) -> None:
    """One firing, in full."""
    if as_json:
        output.print_json(record)
        return
    rows = [
        (name, _coloured(value) if name == "status" else _cell(value))
        for name, value in (record | _steps(record)).items()
        if value is not None
    ]
    output.table(rows)


def _steps(record: Record) -> Record:
    """The steps of a firing in a line: `flight compensated, hotel failed`."""
    steps = record.get("steps")
    if not steps:
        return {}
    return {"steps": ", ".join(f"{each['name']} {each['status']}" for each in steps)}


def firings(records: Iterable[Record], *, as_json: bool) -> None:
    """A line for each."""
    records = list(records)
    if as_json:
        output.print_json(records)
        return
    if not records:
        output.say("No firings yet.")
        return
    rows = [
        (
            slots(record),
            _coloured(record["status"]),
            str(record["attempt"] or ""),
            _milliseconds(record.get("duration_ms")),
            str(record.get("result_code") or ""),
            notes(record),
            str(record["id"]),
        )
        for record in records
    ]
    headers = ("scheduled for", "status", "attempt", "took", "result", "", "id")
    output.table(rows, headers=headers)


def running(records: Iterable[Record]) -> None:
    """What runs at this moment, beside the schedule; nothing when nothing does."""
    records = list(records)
    if records:
        output.say("")
        firings(records, as_json=False)


def reason(record: Record, *, as_json: bool) -> None:
    """What happened to a slot."""
    if as_json:
        output.print_json(record)
        return
    output.say(str(record["explanation"]), style="bold")
    if record.get("firing"):
        firing(record["firing"], as_json=False)


def when(record: Record) -> str:
    """The trigger, as it was written, and its zone."""
    written = next((record[name] for name in _TRIGGERS if record.get(name) is not None), "")
    if other := record.get("after"):
        written = f"{_LINKS.get(other['on'], 'after')} {other['key']}"
    elif monitor := record.get("monitor"):
        written = f"ping expected: {monitor['expect']}"
    elif record.get("on_demand"):
        written = "on demand"
    zone = record.get("timezone", "UTC")
    return str(written) if zone == "UTC" else f"{written} ({zone})"


def instant(text: object) -> str:
    """`2025-03-09T14:00:00Z` as people read it; it stays UTC, and says so."""
    if not isinstance(text, str):
        return "-"
    day, _, rest = text.partition("T")
    return f"{day} {rest.removesuffix('Z')} UTC" if rest.endswith("Z") else text


def slots(record: Record) -> str:
    """The slot, or the range of a row that stands for several."""
    first = instant(record["scheduled_for"])
    count = record.get("slot_count") or 1
    return first if count == 1 else f"{first} … {instant(record.get('last_slot_at'))} ({count})"


def notes(record: Record) -> str:
    """What is unusual about a firing."""
    by = record.get("triggered_by")
    said = [
        progress(record),
        "replay" if record.get("replay_of") else "",
        "catch-up" if record.get("catch_up") else "",
        str(by) if by not in (None, "schedule") else "",
        str(record.get("reason") or ""),
    ]
    return ", ".join(filter(None, said))


def progress(record: Record) -> str:
    """How far a task that runs says that it is: `40 % copying`."""
    share, note = record.get("progress"), record.get("progress_note")
    said = [f"{share:.0%}".replace("%", " %") if isinstance(share, int | float) else ""]
    return " ".join(filter(None, [*said, str(note or "")]))


def style(status: object) -> str:
    """How a status is coloured."""
    return _STYLES.get(str(status), "")


def _milliseconds(value: object) -> str:
    return f"{value} ms" if isinstance(value, int | float) else ""


def _coloured(value: object) -> Text:
    from rich.text import Text  # noqa: PLC0415 - started late, see app.py

    return Text(_cell(value), style=style(value))


def _cell(value: object) -> str:
    import json  # noqa: PLC0415 - as above

    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "-" if value is None else str(value)
