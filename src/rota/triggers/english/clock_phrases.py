"""Phrases about the time of day: "at 9am and 5pm", "between 8am and 6pm", "at minute 15"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.errors import InvalidText
from rota.triggers.english import refusals, words
from rota.triggers.english.said import Reading, Said

if TYPE_CHECKING:
    from rota.triggers.english.words import Cursor, Time

COUNTS = {"second": 60, "minute": 60, "hour": 24}


def unit_list(cursor: Cursor, said: Said) -> bool:
    """Of / at / past: minutes 0 and 30, hour 9, every 2nd hour."""
    start = cursor.at
    cursor.take("at", "past", "of", "during")
    if cursor.take("every", "each"):
        if nth_unit(cursor, said) or single_unit(cursor, said):
            said.repeats = True
            return True
    else:
        name = words.unit(cursor.peek())
        if name in COUNTS:
            cursor.at += 1
            mask = _numbers(cursor, COUNTS[name], name)
            if mask:
                _set_reading(said, name, Reading(mask, every=False))
                return True
    cursor.at = start
    return False


def times(cursor: Cursor, said: Said) -> bool:
    """At 9am, at 09:00 and 17:30, at noon, at 8 in the morning."""
    start = cursor.at
    at = cursor.take("at")
    found = cursor.take_list(lambda here: _time(here, said, bare=at))
    if not found:
        if at:
            refusals.bad_time(cursor)
        cursor.at = start
        return False
    if said.times:
        raise refusals.two_schedules(said)
    said.times = found
    return True


def window(cursor: Cursor, said: Said) -> bool:
    """Between 8am and 6pm; from 8am to 6pm; 8am to 6pm."""
    start = cursor.at
    opening = cursor.peek()
    opened = cursor.take("between", "from")
    joints = ("and", "to") if opening == "between" else ("to", "until", "till", "through")
    first_at = cursor.at
    first = cursor.take_as(words.clock)
    joint = cursor.take(*joints)
    last = cursor.take_as(words.clock) if joint else None
    if first and last:
        if said.window:
            raise refusals.two_schedules(said)
        said.window = (first, last)
        return True
    if opened:
        cursor.at = first_at
        refusals.bad_window(cursor, joints)
    cursor.at = start
    return False


def part_of_day(cursor: Cursor, said: Said) -> bool:
    """In the morning, mornings, tonight, nightly, this evening."""
    start = cursor.at
    today = cursor.take("this")
    if not today and not cursor.take_phrase("in the"):
        cursor.take("at")
    word = cursor.peek()
    if cursor.take_as(words.day_part) is None:
        cursor.at = start
        return False
    if said.part_of_day is None:
        raise refusals.two_schedules(said)  # Several parts, and not each beside its time.
    if today or word == "tonight":
        said.relative_day = 0
    said.repeats |= word == "nightly" or word.endswith("s")
    return True


def nth_unit(cursor: Cursor, said: Said) -> bool:
    """(every) 5th minute; (every) minute among 0, 7 and 15."""
    start = cursor.at
    # "Every second among …" is about seconds, "every second hour" about every 2nd one.
    nth = None if cursor.peek(1) == "among" else cursor.take_as(words.ordinal)
    name = cursor.take_as(words.unit)
    count = COUNTS.get(name or "")
    if name is None or count is None or (nth is None and not cursor.take("among")):
        cursor.at = start
        return False
    if nth is None:
        mask = _numbers(cursor, count, name)
        if not mask:
            raise InvalidText(f'Expected numbers from 0 to {count - 1} after "{name} among"')
    else:
        if not 1 <= nth <= count:
            raise InvalidText(f"Expected every 1st to {count}th {name}, got {nth}")
        mask = sum(1 << value for value in range(0, count, nth))
    _set_reading(said, name, Reading(mask, every=True))
    return True


def single_unit(cursor: Cursor, said: Said) -> bool:
    """(every) minute, hour, second; but not (every) second monday."""
    name = cursor.peek()
    count = COUNTS.get(name)
    if count is None or (name == "second" and is_day(cursor.peek(1))):
        return False
    cursor.at += 1
    _set_reading(said, name, Reading((1 << count) - 1, every=True))
    return True


def is_day(token: str) -> bool:
    """A weekday's name, or "day" or "weekday"."""
    return token in {"day", "weekday"} or words.weekday(token) is not None


def _time(cursor: Cursor, said: Said, *, bare: bool) -> Time | None:
    """5pm, 17:30, 5:30 in the afternoon; and a bare 5 where the text says which part of the day."""
    start = cursor.at
    token = cursor.peek()
    time = cursor.take_as(words.clock)
    if time is None and bare and (hour := cursor.take_as(words.number)) is not None:
        time = (hour, 0, 0) if hour <= 12 else None
    if time is None:
        cursor.at = start
        return None
    part = _part_beside(cursor) or said.part_of_day
    if part is None:
        if token.isdecimal():
            cursor.at = start
            return None
        return time
    hour, minute, second = time
    if token[0] in "123456789" and token[-1].isdecimal():
        hour = words.hour_within(hour, part)
    if not words.is_within(hour, part):
        raise InvalidText(f'Expected a time in the {part}, got "{token}"')
    return hour, minute, second


def _part_beside(cursor: Cursor) -> str | None:
    """In the morning, at night, right after a time."""
    if not (cursor.peek() == "at" or (cursor.peek() == "in" and cursor.peek(1) == "the")):
        return None
    ahead = 1 if cursor.peek() == "at" else 2
    part = words.day_part(cursor.peek(ahead))
    if part:
        cursor.at += ahead + 1
    return part


def _numbers(cursor: Cursor, count: int, name: str) -> int:
    """0, 15 and 30 to 40, as a mask of values below the count."""
    mask = 0
    for first, last in cursor.take_list(lambda here: here.take_range(words.number)):
        if not first <= last < count:
            raise InvalidText(
                f"Expected {name}s from 0 to {count - 1}, rising, got {first} to {last}"
            )
        mask |= (2 << last) - (1 << first)
    return mask


def _set_reading(said: Said, name: str, reading: Reading) -> None:
    if name in said.readings:
        raise refusals.two_schedules(said)
    said.readings[name] = reading
