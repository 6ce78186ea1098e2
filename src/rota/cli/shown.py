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
_FIRST = (
    *("id", "key", "name", "status", "next_fire_at", "next_due_at", "last_fire_at", "last_status"),
)
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
    if record.get("next_due_at") == record.get("next_fire_at"):
        record = record | {"next_due_at": None}
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
    rest = f"; next at {upcoming(record)}" if record.get("next_fire_at") else ""
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
            upcoming(record),
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
            took(record.get("duration_ms")),
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
    if record.get("note"):
        output.say(f"! {record['note']}", style="yellow")
    for each in filter(None, (record, record.get("second"))):
        about = f"{instant(each['at'])}: " if record.get("note") else ""
        output.say(f"{about}{each['explanation']}", style="bold")
        if each.get("firing"):
            firing(each["firing"], as_json=False)


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


def changes(records: Iterable[Record], *, as_json: bool) -> None:
    """What was done to a schedule: a line for each change."""
    records = list(records)
    if as_json:
        output.print_json(records)
        return
    rows = [
        (instant(each["at"]), each["action"], each["actor"] or "-", _changed(each))
        for each in records
    ]
    output.table(rows, headers=("when", "what", "by", "changes"))


def audited(records: Iterable[Record], *, as_json: bool) -> None:
    """Expected slots against outcomes: one line when all is explained, else what is not."""
    records = list(records)
    missing = sum(each["unexplained"] for each in records)
    expected = sum(each["expected"] for each in records)
    if as_json:
        schedules = len({each["schedule_id"] for each in records})
        total = {"schedules": schedules, "expected": expected, "unexplained": missing}
        output.print_json({**total, "items": records})
        return
    # The newest slots are still being decided: a fresh schedule has none that count yet.
    until = max((each["until"] for each in records), default=None)
    up_to = "" if until is None else f" up to {instant(until)}"
    output.say(f"unexplained = {missing} of {expected} expected slots{up_to}")
    for each in records:
        for run in each["runs"]:
            first, last = instant(run["first_slot"]), instant(run["last_slot"])
            slots = first if run["count"] == 1 else f"{run['count']} from {first} to {last}"
            output.say(f"{each['schedule_key']}: {slots}")
        if each["has_no_timer"]:
            output.say(f"{each['schedule_key']}: active, and nothing is armed; Rota arms it again")


def _changed(record: Record) -> str:
    """`cron_expr 0 9 * * * → 0 8 * * *, payload changed, count 3`."""
    said = [
        f"{each['field']} changed"
        if each.get("redacted")
        else f"{each['field']} {_value(each.get('old'))} → {_value(each.get('new'))}"
        for each in record["changes"]
    ]
    said += [f"{name} {_value(value)}" for name, value in record["details"].items()]
    return ", ".join(said)


def _value(value: object) -> str:
    return "-" if value is None else str(value)


def upcoming(record: Record) -> str:
    """The next slot; with jitter or a fire window, also when it is due."""
    slot, due = record.get("next_fire_at"), record.get("next_due_at")
    return instant(slot) if due in (None, slot) else f"{instant(slot)}, due {instant(due)}"


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


def took(milliseconds: object) -> str:
    """How long something took: `35 ms`, `1.25 s`, `33m20s`; nothing for what has not ended."""
    from datetime import timedelta  # noqa: PLC0415 - started late, see app.py

    from rota import durations  # noqa: PLC0415

    if not isinstance(milliseconds, int | float):
        return ""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.2f} s"
    return durations.compact(timedelta(seconds=milliseconds // 1_000))


def _coloured(value: object) -> Text:
    from rich.text import Text  # noqa: PLC0415 - started late, see app.py

    return Text(_cell(value), style=style(value))


def _cell(value: object) -> str:
    import json  # noqa: PLC0415 - as above

    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "-" if value is None else str(value)
