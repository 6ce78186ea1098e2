"""What the grammar refuses because it has several meanings, with each of them spelled out.

Every choice offered is a text (or an RRULE) that is understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.errors import InvalidText
from rota.triggers.english import words

if TYPE_CHECKING:
    from rota.triggers.english.said import Said
    from rota.triggers.english.words import Cursor

EXAMPLES = (
    "every 5 minutes",
    "every weekday at 9am",
    "on the last friday of the month at 6pm",
    "every 2 hours between 8am and 6pm on weekdays",
    "tomorrow at 5pm",
)
_RRULE_DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")


def ambiguous(text: str, why: str, *choices: str) -> InvalidText:
    """The refusal of a text with several meanings."""
    spelled = "; ".join(f'"{choice}"' for choice in choices)
    return InvalidText(
        f'"{text}" has more than one meaning: {why}. Say one of: {spelled}', choices=choices
    )


def unknown(text: str, rest: str) -> InvalidText:
    """The refusal of words the grammar does not have."""
    examples = "; ".join(f'"{example}"' for example in EXAMPLES)
    return InvalidText(f'Not understood: "{rest}" in "{text}". Say it like one of: {examples}')


def every_other(cursor: Cursor, said: Said) -> None:
    """Refuse "every other week" and "every second monday": which ones?"""
    day = words.weekday(cursor.peek(1))
    if day is not None and cursor.peek() in {"other", "second", "2nd"} and cursor.peek(2) != "of":
        name = words.DAY_NAMES[day].lower()
        raise ambiguous(
            said.text,
            f"it does not say which {name}s",
            f"RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY={_RRULE_DAYS[day]}",
            f"on the 1st and 3rd {name} of the month",
            f"on the 2nd {name} of the month",
        )
    if cursor.peek() == "other":
        unit = words.unit(cursor.peek(1))
        raise ambiguous(said.text, f"it does not say which {unit or 'one'}s", *_every_two(unit))


def _every_two(unit: str | None) -> tuple[str, ...]:
    choices = {
        "day": ("every 48 hours", "RRULE:FREQ=DAILY;INTERVAL=2"),
        "week": ("every 2 weeks", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO"),
        "month": ("every 2 months", "RRULE:FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=1"),
        "year": ("RRULE:FREQ=YEARLY;INTERVAL=2", "every year"),
    }
    return choices.get(unit or "", (f"every 2 {unit or 'hour'}s", f"every 2nd {unit or 'hour'}"))


def bad_time(cursor: Cursor, said: Said) -> None:
    """Refuse "at 5" (in the morning or in the afternoon?) and "at 25:00"."""
    if ":" in cursor.peek() or cursor.peek().endswith(("am", "pm")):
        if words.clock(cursor.peek()) is None:
            raise InvalidText(f'Expected a time such as "17:30" or "5pm", got "{cursor.peek()}"')
        return
    hour = words.number(cursor.peek()) if cursor.peek().isdecimal() else None
    if hour is None or hour > 24 or words.month(cursor.peek(1)) is not None:
        return
    if 1 <= hour <= 12:
        morning, evening = f"{hour % 12:02}:00", f"{hour % 12 + 12:02}:00"
        raise ambiguous(
            said.text,
            f"{hour} is {morning} or {evening}",
            *_with_hour(said.text, hour, morning, evening),
        )
    raise InvalidText(f'Expected a time such as "{hour % 24:02}:00", got "at {hour}"')


def _with_hour(text: str, hour: int, *times: str) -> tuple[str, ...]:
    """The text with the bare hour written out."""
    return tuple(re.sub(rf"\bat {hour}\b", f"at {time}", text, count=1) for time in times)


def slash_date(text: str, found: re.Match[str]) -> InvalidText:
    """The refusal of 12/1: the first of December, or the twelfth of January?"""
    first, second = int(found[1]), int(found[2])
    readings = [(first, second), (second, first)]
    days = [
        f"every {words.MONTH_NAMES[month - 1].lower()} {day}"
        for month, day in readings
        if 1 <= month <= 12 and 1 <= day <= 28
    ]
    hour = re.search(r"\bat (\d{1,2})\b(?!:|am|pm)", text.lower())
    times = ["00:00"]
    if hour and 1 <= int(hour[1]) <= 12:
        times = [f"{int(hour[1]) % 12:02}:00", f"{int(hour[1]) % 12 + 12:02}:00"]
    choices = tuple(f"{day} at {time}" for day in days for time in times)
    return ambiguous(
        text,
        f"{found[0]} is read as month/day or day/month",
        *(choices or ("at 2027-01-12 05:00",)),
    )


def day_fields(said: Said) -> None:
    """Refuse "friday the 13th", which cron cannot say, and days of two kinds with no joint."""
    rule = (
        f"RRULE:FREQ=MONTHLY;BYMONTHDAY={_days_text(said)};"
        f"BYDAY={_weekdays_text(said)}{rule_times(said)}"
    )
    if said.falling:
        # An AND of the two day fields needs one that begins with a star, and so with its lowest.
        if not (said.month_days.mask & 2 or said.week_days.mask & 1):
            raise InvalidText(f'"{said.text}" is beyond cron. Say it as "{rule}"', choices=(rule,))
    elif not said.joined:
        either = f"on the 13th of the month or every {words.DAY_NAMES[_a_weekday(said)].lower()}"
        raise ambiguous(said.text, "days that match both, or days that match either", rule, either)


def rule_times(said: Said) -> str:
    """The times said, as parts of an RRULE."""
    parts = zip(
        ("HOUR", "MINUTE"), zip(*(time[:2] for time in said.times), strict=True), strict=False
    )
    return "".join(
        f";BY{unit}={','.join(str(value) for value in sorted(set(values)))}"
        for unit, values in parts
    )


def _a_weekday(said: Said) -> int:
    mask = said.week_days.mask or 1 << min(said.week_days.nth)[0]
    return (mask & -mask).bit_length() - 1


def _days_text(said: Said) -> str:
    days = [str(day) for day in range(1, 32) if said.month_days.mask >> day & 1]
    return ",".join(days or ["-1"])


def _weekdays_text(said: Said) -> str:
    plain = [name for day, name in enumerate(_RRULE_DAYS) if said.week_days.mask >> day & 1]
    nth = [f"{nth or -1}{_RRULE_DAYS[day]}" for day, nth in sorted(said.week_days.nth)]
    return ",".join(plain + nth)


def two_schedules(said: Said) -> InvalidText:
    """The refusal of what one schedule cannot hold."""
    examples = ("every monday at 9am", "every friday at 5pm")
    if len(said.times) > 1:
        examples = tuple(f"every day at {words.clock_text(*time)}" for time in said.times)
    spelled = " and ".join(f'"{example}"' for example in examples)
    return InvalidText(
        f'"{said.text}" describes more than one schedule. Make one for each, such as {spelled}'
    )


def uneven(said: Said, count: int, unit: str, of: str) -> InvalidText:
    """The refusal of "every 7 minutes on weekdays": 60 is no multiple of 7."""
    nth = words.ordinal_text(count)
    return ambiguous(
        said.text,
        f"a whole {of} is no multiple of {count} {unit}s, so the last gap would be shorter",
        f"every {nth} {unit}",
        f"every {count} {unit}s",
    )
