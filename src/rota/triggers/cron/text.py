"""A cron expression from its meaning: the inverse of `syntax`, up to spelling."""

from __future__ import annotations

from typing import NamedTuple

from rota.triggers.civil import FIRST_YEAR
from rota.triggers.cron.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOURS, MINUTES, MONTH
from rota.triggers.cron.special import LAST, MonthDays, WeekDays

#: By step: 0, n, 2n, … as a mask, further than any field goes.
_COMBS = tuple(
    sum(1 << value for value in range(0, 512, step)) if step else 1 for step in range(256)
)


class Meaning(NamedTuple):
    """What an expression is to mean; masks as in `Pattern`."""

    seconds: int = 1
    minutes: int = 1
    hours: int = 1
    is_wildcard: bool = False
    month_days: int = DAY_OF_MONTH.simple["*"]
    special_month_days: MonthDays | None = None
    week_days: int = DAY_OF_WEEK.simple["*"]
    special_week_days: WeekDays | None = None
    months: int = MONTH.simple["*"]
    years: int | None = None
    days_joined_by_or: bool = False
    """A day named by either day field will do; else it must be named by both."""


def values(mask: int) -> list[int]:
    """The values in a mask, rising."""
    return [value for value in range(mask.bit_length()) if mask >> value & 1]


def runs(mask: int) -> list[tuple[int, int]]:
    """The values in a mask as (first, last) of each run without a break."""
    found: list[tuple[int, int]] = []
    for value in values(mask):
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def step_of(mask: int, count: int) -> int | None:
    """The n of */n where the mask is one, of a field that counts from 0; None where it is not."""
    for step in range(1, count // 2 + 1):
        if mask == _COMBS[step] & (1 << count) - 1:
            return step
    return None


def write(meaning: Meaning) -> str:
    """An expression that means just this: 5 fields if they are enough, else 6 or 7."""
    seconds, minutes, hours = _clock_fields(meaning)
    month_days, week_days = _day_fields(meaning)
    fields = [minutes, hours, month_days, _field(meaning.months, MONTH.simple["*"]), week_days]
    if seconds != "0" or meaning.years is not None:
        fields.insert(0, seconds)
    if meaning.years is not None:
        fields.append(_list(meaning.years << FIRST_YEAR))
    return " ".join(fields)


def _clock_fields(meaning: Meaning) -> list[str]:
    masks = [(meaning.seconds, 60), (meaning.minutes, 60), (meaning.hours, 24)]
    texts = [_list(mask) for mask, _ in masks]
    if not meaning.is_wildcard:
        return texts
    for index, (mask, count) in enumerate(masks):
        step = step_of(mask, count)
        if step:
            texts[index] = "*" if step == 1 else f"*/{step}"
    if not any(text.startswith("*") for text in texts):
        _open_one(texts, masks)
    return texts


def _open_one(texts: list[str], masks: list[tuple[int, int]]) -> None:
    """Begin one field with a star without changing its values: */60 in the minutes is 0 alone."""
    for index in (1, 2, 0):
        mask, count = masks[index]
        if mask & 1:
            rest = mask & ~1
            texts[index] = f"*/{count},{_list(rest)}" if rest else f"*/{count}"
            return


def _day_fields(meaning: Meaning) -> tuple[str, str]:
    month_days = _month_days(meaning.month_days, meaning.special_month_days)
    week_days = _week_days(meaning.week_days, meaning.special_week_days)
    any_month_day = meaning.month_days == DAY_OF_MONTH.simple["*"]
    any_week_day = meaning.week_days == DAY_OF_WEEK.simple["*"]
    if meaning.days_joined_by_or:
        return month_days, week_days
    if any_week_day:
        return ("*" if any_month_day else month_days), "*"
    if any_month_day:
        return "*", week_days
    return _opened_days(meaning, month_days, week_days)


def _opened_days(meaning: Meaning, month_days: str, week_days: str) -> tuple[str, str]:
    """Both restricted and both needed: one of them must begin with a star."""
    if meaning.month_days & 2:
        return f"*/31,{month_days}", week_days
    return month_days, f"*/7,{week_days}"


def _month_days(mask: int, special: MonthDays | None) -> str:
    items = [_list(mask)] if mask else []
    if special is not None:
        items += ["L" if before == 0 else f"L-{before}" for before in special.before_last]
        items += ["LW"] if special.last_weekday else []
        if special.nearest:
            items.append(f"{special.nearest}W" if special.nearest > 0 else f"L{special.nearest}W")
    return ",".join(items)


def _week_days(mask: int, special: WeekDays | None) -> str:
    items = [_list(mask)] if mask else []
    for weekday, nth in special.nth if special is not None else ():
        items.append(f"{weekday}L" if nth == LAST else f"{weekday}#{nth}")
    return ",".join(items)


def _field(mask: int, full: int) -> str:
    return "*" if mask == full else _list(mask)


def _list(mask: int) -> str:
    """A short spelling: single values, ranges of three or more, steps of four or more.

    Items may overlap: 0-59/2,0-59/5 is far shorter than what the two have in them.
    """
    left = mask
    items: list[str] = []
    while left:
        first = (left & -left).bit_length() - 1
        step, run = _longest_run(mask >> first, left >> first)
        items.append(_item(first, first + run.bit_length() - 1, step))
        left &= ~(run << first)
    return ",".join(items)


def _longest_run(mask: int, left: int) -> tuple[int, int]:
    """The step from bit 0 on that spells most of what is left, and the values it reaches."""
    best, best_run, most = 1, 1, 1
    for step in range(1, left.bit_length() // 2 + 1):
        if not mask >> step & 1:
            continue
        comb = _COMBS[step]
        missing = comb & ~mask
        run = comb & ((missing & -missing) - 1)
        count = (run & left).bit_count()
        if count > most and run.bit_count() >= (3 if step == 1 else 4):
            best, best_run, most = step, run, count
    return best, best_run


def _item(first: int, last: int, step: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}" if step == 1 else f"{first}-{last}/{step}"


FULL_MINUTES = MINUTES.simple["*"]
FULL_HOURS = HOURS.simple["*"]
