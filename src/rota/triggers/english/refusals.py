"""What the grammar refuses because it has several meanings, with each of them spelled out.

An `Ambiguity` carries texts that may be what was meant. `read` offers those that are understood.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
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
_MOST_SHOWN = 100


class Ambiguity(Exception):
    """Several meanings: why, and texts that would have one each."""

    def __init__(self, why: str, *candidates: str) -> None:
        super().__init__(why)
        self.why = why
        self.candidates = candidates


def shown(text: str) -> str:
    """The text, or the beginning of a long one."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def ambiguous(text: str, why: str, choices: tuple[str, ...]) -> InvalidText:
    """The refusal of a text with several meanings."""
    spelled = "; ".join(f'"{choice}"' for choice in choices)
    hint = f". Say one of: {spelled}" if choices else ""
    return InvalidText(f'"{shown(text)}" has more than one meaning: {why}{hint}', choices=choices)


def unknown(text: str, rest: str) -> InvalidText:
    """The refusal of words the grammar does not have."""
    examples = "; ".join(f'"{example}"' for example in EXAMPLES)
    return InvalidText(
        f'Not understood: "{shown(rest)}" in "{shown(text)}". Say it like one of: {examples}'
    )


def two_schedules(said: Said) -> InvalidText:
    """The refusal of what one schedule cannot hold."""
    examples = ("every monday at 9am", "every friday at 5pm")
    if len(said.times) > 1:
        examples = tuple(f"every day at {words.clock_text(*time)}" for time in said.times[:6])
    spelled = " and ".join(f'"{example}"' for example in examples)
    return InvalidText(
        f'"{shown(said.text)}" describes more than one schedule. '
        f"Make one for each, such as {spelled}"
    )


def bad_time(cursor: Cursor) -> None:
    """Refuse "at 5" (in the morning or in the afternoon?) and "at 25:00"."""
    token = cursor.peek()
    if ":" in token or token.endswith(("am", "pm")):
        raise InvalidText(f'Expected a time such as "17:30" or "5pm", got "{token}"')
    hour = int(token) if token.isdecimal() and len(token) <= 2 else None
    if hour is None or hour > 24 or words.month(cursor.peek(1)) is not None:
        return
    if 1 <= hour <= 12:
        morning, evening = _halves(hour)
        raise Ambiguity(
            f"{hour} is {morning} or {evening}",
            cursor.replaced({0: morning}),
            cursor.replaced({0: evening}),
        )
    raise InvalidText(f'Expected a time such as "{hour % 24:02}:00", got "at {hour}"')


def no_unit(cursor: Cursor) -> None:
    """Refuse "every 60000": seconds, or milliseconds?"""
    number = cursor.peek()
    if number.isdecimal() and not cursor.peek(1):
        units = (" seconds", " minutes", "ms")
        raise Ambiguity(
            f"{number} of what", *(cursor.replaced({0: number + unit}) for unit in units)
        )


def bad_window(cursor: Cursor, joints: tuple[str, ...]) -> None:
    """Refuse "between 9 and 5": in the daytime, or through the night?"""
    first, joint, last = cursor.peek(), cursor.peek(1), cursor.peek(2)
    if joint not in joints or not (first.isdecimal() or last.isdecimal()):
        return
    raise Ambiguity(
        f"{first} and {last} are hours of the morning or of the afternoon",
        *(
            cursor.replaced({0: begin, 2: end})
            for begin in _possible_times(first)
            for end in _possible_times(last)
        ),
    )


def _possible_times(token: str) -> tuple[str, ...]:
    hour = int(token) if token.isdecimal() and len(token) <= 2 else None
    if hour is None:
        return (token,)
    return _halves(hour) if 1 <= hour <= 12 else (f"{hour % 24:02}:00",)


def _halves(hour: int) -> tuple[str, str]:
    return f"{hour % 12:02}:00", f"{hour % 12 + 12:02}:00"


def end_of(cursor: Cursor) -> None:
    """Refuse "at the end of the month": when on the last day?"""
    if cursor.peek() != "end" or cursor.peek(1) != "of":
        return
    text = cursor.replaced({0: "last day"})
    raise Ambiguity("it does not say when on the last day", text, f"{text} at 23:59")


def odd_adverb(cursor: Cursor) -> None:
    """Refuse "biweekly" (twice a week, or every two weeks?) and "twice a day" (when?)."""
    word = cursor.peek()
    if word in _ODD_ADVERBS:
        why, *candidates = _ODD_ADVERBS[word]
        raise Ambiguity(why, *candidates)
    count = 2 if word == "twice" else words.number(word) if cursor.peek(1) == "times" else None
    if count is None:
        return
    after = 1 if word == "twice" else 2
    unit = cursor.peek(after).removesuffix("ly").replace("dai", "day")
    if unit in {"a", "an", "per", "every", "each"}:
        unit = cursor.peek(after + 1)
    raise Ambiguity("it does not say when", *_times_per(count, unit))


_TWICE_A_WEEK = "every monday and thursday"
_ODD_ADVERBS = {
    "biweekly": ("twice a week, or every two weeks", _TWICE_A_WEEK, "every 2 weeks"),
    "semiweekly": ("it does not say when", _TWICE_A_WEEK),
    "bimonthly": (
        "twice a month, or every two months",
        "on the 1st and 15th of the month",
        "every 2 months",
    ),
    "semimonthly": ("it does not say when", "on the 1st and 15th of the month"),
    "biannually": (
        "twice a year, or every two years",
        "every 6 months",
        "RRULE:FREQ=YEARLY;INTERVAL=2",
    ),
    "semiannually": ("it does not say when", "every 6 months"),
}


def _times_per(count: int, unit: str) -> tuple[str, ...]:
    """Even ways to do something so many times a day, an hour, a week …"""
    whole, part = {"day": (24, "hour"), "hour": (60, "minute")}.get(unit, (0, ""))
    if whole and count and whole % count == 0:
        step = whole // count
        every = f"every {step} {part}s" if step > 1 else f"every {part}"
        if unit == "hour" or not 2 <= count <= 4:
            return (every,)
        hours = [f"{hour:02}:00" for hour in range(0, 24, step)]
        return every, f"every day at {', '.join(hours[:-1])} and {hours[-1]}"
    return {
        (2, "week"): (_TWICE_A_WEEK,),
        (3, "week"): ("every monday, wednesday and friday",),
        (5, "week"): ("every weekday",),
        (2, "month"): ("on the 1st and 15th of the month",),
        (2, "year"): ("every 6 months",),
        (4, "year"): ("every quarter",),
    }.get((count, unit), ())


def every_other(unit: str) -> Ambiguity:
    """The refusal of "every other hour": counted from now, or by the clock?"""
    if unit == "weekday":
        days = ("monday, wednesday and friday", "tuesday and thursday")
        return Ambiguity("it does not say which weekdays", *(f"every {each}" for each in days))
    return Ambiguity(
        f"counted from now, or by the clock ({'even' if unit == 'hour' else 'every second'} ones)",
        f"every 2 {unit}s",
        f"every 2nd {unit}",
    )


def calendar_delay(found: re.Match[str]) -> Ambiguity:
    """The refusal of "in 2 months": of how many days?"""
    count = int(found[1]) if found[1].isdecimal() else 1
    days = count * {"month": 30, "year": 365}[found[2]]
    return Ambiguity(f"{found[2]}s have no fixed length", f"in {days} days")


def next_period() -> Ambiguity:
    """The refusal of "next week" and "next month"."""
    return Ambiguity('"next" does not say which day', "in 7 days at 09:00")


def next_weekday(said: Said, today: date | None) -> Ambiguity:
    """The refusal of "next friday": the coming one, or the one after it?"""
    candidates: tuple[str, ...] = ()
    if today is not None and said.next_weekday is not None:
        coming = from_weekday(today + timedelta(days=1), said.next_weekday)
        time = words.clock_text(*(said.times or [(9, 0, 0)])[0])
        later = coming + timedelta(days=7)
        candidates = (f"at {coming} {time}", f"at {later} {time}")
    return Ambiguity('"next" is the coming one or the one after it', *candidates)


def from_weekday(day: date, weekday: int) -> date:
    """The first such weekday (Sunday is 0) on or after the day."""
    return day + timedelta(days=(weekday - day.isoweekday()) % 7)


def slash_date(text: str, found: re.Match[str]) -> Ambiguity:
    """The refusal of 12/1: the first of December, or the twelfth of January?"""
    first, second = int(found[1]), int(found[2])
    year = int(found[3]) if found[3] and len(found[3]) == 4 else None
    days = [
        f"at {year}-{month:02}-{day:02}"
        if year
        else f"every {words.MONTH_NAMES[month - 1].lower()} {day} at"
        for month, day in dict.fromkeys([(first, second), (second, first)])
        if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 2024, month)[1]
    ]
    return Ambiguity(
        f"{found[0]} is read as month/day or day/month",
        *(f"{day} {time}" for day in days for time in _times_in(text)),
    )


def _times_in(text: str) -> list[str]:
    """The times of day in a text, a bare hour as both of its halves; midnight if there is none."""
    times = [time for word in text.split() if (time := words.clock(word))]
    if times:
        return [words.clock_text(*time) for time in times[:2]]
    hour = re.search(r"\bat (\d{1,2})\b", text)
    return list(_possible_times(hour[1])) if hour else ["00:00"]


def uneven(said: Said, count: int, unit: str, of: str) -> Ambiguity:
    """The refusal of "every 7 minutes on weekdays": 60 is no multiple of 7."""
    nth = words.ordinal_text(count)
    return Ambiguity(
        f"a whole {of} is no multiple of {count} {unit}s, so the last gap would be shorter",
        re.sub(rf"\b{count} {unit}s?\b", f"{nth} {unit}", said.text, count=1),
        f"every {count} {unit}s",
    )
