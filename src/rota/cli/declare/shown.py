"""Plans as people read them, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rota.cli import output
from rota.cli.declare.standing import owners, without_owner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.cli.declare.plan import Change, Plan
    from rota.cli.declare.slots import Shift, Slots
    from rota.cli.declare.standing import Standing
    from rota.cli.declare.wanted import Wanted

_LONGEST = 200


def show(
    plan: Plan, shifts: Mapping[str, Shift], *, days: int, secrets: Mapping[str, list[str]]
) -> None:
    """The difference, then what it comes to. `secrets` are those that are not there, by key."""
    for wanted in plan.creates:
        output.say(f"+ {_title(wanted)}", style="green")
        output.say(f"    {_when(wanted.written)} → {_target(wanted.written)}")
        _show_shift(shifts.get(wanted.key), days)
        _show_calendar(wanted)
        _show_missing(secrets.get(wanted.key))
    for change in plan.changes:
        output.say(f"~ {_title(change.wanted)}", style="yellow")
        for name, (old, new) in _people(change).items():
            output.say(f"    {name}: {_cell(old)} → {_cell(new)}")
        _show_shift(shifts.get(change.key), days)
        _show_calendar(change.wanted)
        _show_missing(secrets.get(change.key))
    for standing in plan.removals:
        output.say(f"- {standing.key}  (owned by {', '.join(standing.owners)})", style="red")
        _show_shift(shifts.get(standing.key), days)
    _show_rest(plan, shifts, days)


def summary(plan: Plan) -> str:
    """What the plan comes to, in a sentence."""
    if not plan.size:
        return f"Nothing to do: {_counted(len(plan.unchanged), 'schedule')} as declared."
    parts = [
        f"{len(plan.creates)} to create",
        f"{len(plan.changes)} to change",
        *([f"{len(plan.removals)} to delete"] if plan.removals else []),
        f"{len(plan.unchanged)} unchanged",
    ]
    return f"{', '.join(parts)}."


def leftovers(plan: Plan) -> str | None:
    """What to say of schedules that the files own and no longer have."""
    if not plan.left:
        return None
    keys = ", ".join(each.key for each in plan.left[:5]) + (", …" if len(plan.left) > 5 else "")
    count = _counted(len(plan.left), "schedule")
    return f"{count} no longer in the files still run: {keys}. --prune deletes them."


def as_json(
    plan: Plan, shifts: Mapping[str, Shift], secrets: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The same for programs."""

    def slots_of(key: str) -> dict[str, Any] | None:
        shift = shifts.get(key)
        return None if shift is None else _shift_json(shift)

    return {
        "changes": plan.size,
        "create": [
            {**_wanted_json(each), "fields": each.written, "slots": slots_of(each.key)}
            for each in plan.creates
        ],
        "change": [
            {
                **_wanted_json(each.wanted),
                "id": each.standing.id,
                "fields": {n: {"old": old, "new": new} for n, (old, new) in each.fields.items()},
                "slots": slots_of(each.key),
            }
            for each in plan.changes
        ],
        "delete": [{**_standing_json(each), "slots": slots_of(each.key)} for each in plan.removals],
        "unchanged": [each.key for each in plan.unchanged],
        "left": [_standing_json(each) for each in plan.left],
        "missing_secrets": dict(secrets),
    }


def _show_rest(plan: Plan, shifts: Mapping[str, Shift], days: int) -> None:
    output.say(summary(plan), style="bold")
    moved = sum(each.moves_slots for each in plan.changes)
    unseen = len(plan.creates) + moved + len(plan.removals) - len(shifts)
    if days > 0 and unseen > 0:
        output.note(f"The fire times of {unseen} more are not shown: there are too many.")
    if (left := leftovers(plan)) is not None:
        output.note(left)


def _people(change: Change) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, with the owner's tag shown as what it means."""
    shown = dict(change.fields)
    if "tags" in shown:
        before, after = shown.pop("tags")
        old: list[str] = before or []
        new: list[str] = after or []
        if without_owner(old) != without_owner(new):
            shown["tags"] = (without_owner(old), without_owner(new))
        if owners(old) != owners(new):
            shown["owner"] = (", ".join(owners(old)) or None, ", ".join(owners(new)) or None)
        elif "tags" not in shown:
            shown["tags"] = (old, new)
    return shown


def _show_shift(shift: Shift | None, days: int) -> None:
    if shift is None:
        return
    for word, slots in (("fires no longer", shift.disappear), ("fires newly", shift.appear)):
        if slots.count:
            output.say(f"    {word}: {_times(slots)}")
    if shift.is_cut:
        output.say(f"    counted until {_utc(shift.until)}, as there are very many")
    if shift.appear.count or shift.disappear.count or not shift.is_timed:
        return
    if shift.kept:
        output.say(f"    fires at the same times in the next {_counted(days, 'day')}")
    else:
        output.say(f"    no fire times in the next {_counted(days, 'day')}")


def _show_missing(secrets: list[str] | None) -> None:
    if secrets:
        names = ", ".join(secrets)
        output.say(
            f"    ! there is no secret {names}: runs fail until it is set (`rota secret set`)",
            style="yellow",
        )


def _show_calendar(wanted: Wanted) -> None:
    """Calendars are the server's: what is shown here does not know their dates."""
    if name := wanted.written.get("calendar"):
        output.say(f"    but not on dates that its calendar {name} leaves out")


def _times(slots: Slots) -> str:
    """`3 times (Europe/Madrid): Mon 2026-11-16 09:00, 17:00 +01:00; Tue …`."""
    days: dict[tuple[str, str], list[str]] = {}
    for local in slots.local():
        offset = local.isoformat()[-6:] if local.utcoffset() else ""
        clock = "%H:%M:%S" if local.second or local.microsecond else "%H:%M"
        days.setdefault((f"{local:%a %Y-%m-%d}", offset), []).append(f"{local:{clock}}")
    moments = "; ".join(f"{day} {', '.join(at)} {off}".rstrip() for (day, off), at in days.items())
    more = slots.count - len(slots.first)
    rest = f"; and {more:,} more" if more else ""
    return f"{_counted(slots.count, 'time')} ({slots.timezone}): {moments}{rest}"


def _title(wanted: Wanted) -> str:
    return f"{wanted.key}  ({wanted.place})"


def _when(written: Mapping[str, Any]) -> str:
    from rota.cli.shown import when  # noqa: PLC0415 - started late, see app.py

    zone = written.get("timezone", "UTC")
    return f"{when({**written, 'timezone': 'UTC'})} ({zone})"


def _target(written: Mapping[str, Any]) -> str:
    from rota.schedules import names  # noqa: PLC0415 - as above

    name = next((name for name in names.TARGETS if name in written), None)
    if name is None:
        return "waits for pings"
    if name == "steps":
        return "steps " + ", ".join(str(each["name"]) for each in written[name])
    method = f"{written.get('method', 'POST')} " if name == "target_url" else f"{name} "
    return f"{method}{written[name]}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _wanted_json(wanted: Wanted) -> dict[str, Any]:
    place = wanted.place
    return {
        "key": wanted.key,
        "name": wanted.definition.name,
        "owner": wanted.owner,
        "file": place.file,
        "line": place.line,
        "entry": place.part,
    }


def _standing_json(standing: Standing) -> dict[str, Any]:
    return {
        "key": standing.key,
        "name": standing.name,
        "id": standing.id,
        "owner": ", ".join(standing.owners) or None,
    }


def _shift_json(shift: Shift) -> dict[str, Any]:
    return {
        "until": _utc(shift.until),
        "appear": _slots_json(shift.appear),
        "disappear": _slots_json(shift.disappear),
    }


def _slots_json(slots: Slots) -> dict[str, Any]:
    pairs = zip(slots.first, slots.local(), strict=True)
    return {
        "timezone": slots.timezone,
        "count": slots.count,
        "slots": [{"utc": _utc(utc), "local": local.isoformat()} for utc, local in pairs],
    }


def _utc(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
