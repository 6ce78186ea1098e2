"""What the parts of a text mean together: `Said` to a trigger."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from rota.errors import InvalidText
from rota.triggers.at import At, first_reading
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.cron import Cron
from rota.triggers.cron.special import LAST, MonthDays, WeekDays
from rota.triggers.cron.text import FULL_HOURS, FULL_MINUTES, Meaning, values, write
from rota.triggers.english import refusals
from rota.triggers.english.day_phrases import set_period
from rota.triggers.english.explain import cron_words, wall_text
from rota.triggers.english.refusals import Ambiguity
from rota.triggers.english.rules import matching_both, which_ones
from rota.triggers.english.said import Days, Reading, Said
from rota.triggers.english.words import DAY_NAMES, MONTH_NAMES, clock_text

if TYPE_CHECKING:
    from datetime import date

    from rota.triggers.zones import Zone

_QUARTERS = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 10
_FIRST = 1 << 1
_JANUARY = 1 << 1
_SUNDAY = 1
_ANY_DAY = Meaning().month_days
_ANY_WEEKDAY = Meaning().week_days
_ANY_MONTH = Meaning().months


def trigger_of(said: Said, in_zone: Zone, now: datetime | None) -> At | Cron:
    """The trigger, or a refusal."""
    _check_part_of_day(said)
    if said.next_weekday is not None:
        raise refusals.next_weekday(said, _today(in_zone, now))
    if said.date or said.relative_day is not None or said.this_weekday is not None:
        return _once(said, in_zone, now)
    cron = _recurring(said, in_zone, now)
    if not said.repeats:
        raise _once_or_always(cron, now)
    return cron


def _check_part_of_day(said: Said) -> None:
    """Every morning: when? (Whether the times are in that part was seen as they were read.)"""
    if said.part_of_day is None or said.times:
        return
    first = {"morning": 8, "afternoon": 14, "evening": 18, "night": 22}[said.part_of_day]
    raise Ambiguity(
        f"it does not say when in the {said.part_of_day}",
        *(f"{said.text} at {hour:02}:00" for hour in (first, first + 1)),
    )


def _today(in_zone: Zone, now: datetime | None) -> date | None:
    if now is None:
        return None
    second = floor_second(now)
    return instant_at(second + in_zone.offset_at(second)).date()


def _once(said: Said, in_zone: Zone, now: datetime | None) -> At:
    recurring = said.repeats or said.readings or said.step or said.window or _days_given(said)
    days = [said.date, said.relative_day, said.this_weekday]
    if recurring or len(said.times) > 1 or days.count(None) < 2:
        raise refusals.two_schedules(said)
    if not said.times:
        raise Ambiguity("it does not say when on that day", f"{said.text} at 09:00")
    day = said.date or _relative_day(said, in_zone, now)
    wall = datetime.combine(day, time(*said.times[0]))
    instant = first_reading(wall, in_zone)
    floor_second(instant)  # Refuses what is outside the calendar.
    return At(instant, in_zone.name, wall)


def _relative_day(said: Said, in_zone: Zone, now: datetime | None) -> date:
    today = _today(in_zone, now)
    if today is None:
        raise InvalidText(f'"{said.text}" counts from now, and no present instant was given')
    if said.this_weekday is not None:
        return refusals.from_weekday(today, said.this_weekday)
    hour = said.times[0][0]
    if said.part_of_day == "night" and not said.relative_day and hour < 6:
        at = f"at {clock_text(*said.times[0])}"
        raise Ambiguity("the night before today, or the one after", f"today {at}", f"tomorrow {at}")
    return today + timedelta(days=said.relative_day or 0)


def _recurring(said: Said, in_zone: Zone, now: datetime | None) -> Cron:
    clock = _clock(said)
    _leave_out(said)
    if said.every_nth:
        raise which_ones(said, said.every_nth.count, said.every_nth.unit, _today(in_zone, now))
    if said.step and said.step[1] not in _PARTS:
        _counted_period(said, _today(in_zone, now))
    if said.month_days and said.week_days:
        _check_day_fields(said, clock, in_zone)
    _check_days(said, clock)
    return Cron.parse(write(_with_days(said, clock)), in_zone.name)


def _leave_out(said: Said) -> None:
    """Takes the days and months of "except …" out of those that were said."""
    if said.without_months:
        said.months = (said.months or _ANY_MONTH) & ~said.without_months
    if said.without_week_days:
        if said.week_days.nth:
            raise refusals.two_schedules(said)
        said.week_days.mask = (said.week_days.mask or _ANY_WEEKDAY) & ~said.without_week_days
        said.falling |= bool(said.month_days)
    if (said.without_months and not said.months) or (
        said.without_week_days and not said.week_days.mask
    ):
        raise InvalidText(f'"{refusals.shown(said.text)}" leaves no day')


def _check_day_fields(said: Said, clock: Meaning, in_zone: Zone) -> None:
    """Refuse "friday the 13th", which cron cannot say, and days of two kinds with no joint."""
    if said.falling:
        # An AND of the two day fields needs one that begins with a star, and so with its lowest.
        if not (said.month_days.mask & 2 or said.week_days.mask & 1):
            raise Ambiguity("a cron expression cannot join the two", *matching_both(said))
    elif not said.joined:
        either = Cron.parse(write(_with_days(said, clock)), in_zone.name)
        raise Ambiguity(
            "days that match both, or days that match either",
            *matching_both(said),
            cron_words(either),
        )


def _check_days(said: Said, clock: Meaning) -> None:
    """Refuse what leaves it open which day of a period, or of a month, is meant."""
    days = said.month_days or said.week_days
    period = said.period
    if said.month_days.nearest and said.month_days != Days(nearest=said.month_days.nearest):
        raise refusals.two_schedules(said)
    if period in {"month", "quarter", "year"} and said.week_days.mask and not said.month_days:
        day = DAY_NAMES[values(said.week_days.mask)[0]].lower()
        first = f"on the first {day} of the {period}"
        raise Ambiguity(
            f"which of the {day}s of the {period}", *_at_times(said, f"every {day}", first)
        )
    if period in {"week", "month", "quarter", "year"} and not days and clock.is_wildcard:
        raise refusals.two_schedules(said)
    if period == "year" and days and not said.months and not (_is_first(said) or _is_last(said)):
        raise Ambiguity("it does not say which month", f"{said.text} in january")
    if said.every_month_name and not (days or period or said.step or said.readings):
        month = MONTH_NAMES[values(said.months)[0] - 1].lower()
        choices = f"every day in {month}", f"every {month} 1"
        raise Ambiguity("once, or on every day of the month", *_at_times(said, *choices))


def _at_times(said: Said, *texts: str) -> tuple[str, ...]:
    """The texts, with the times that were said."""
    times = " and ".join(clock_text(*time) for time in said.times)
    return tuple(f"{text} at {times}" if times else text for text in texts)


def _is_first(said: Said) -> bool:
    """The first day, or the first monday, of a period."""
    plain = said.month_days.mask or _FIRST
    nths = {nth for _, nth in said.week_days.nth} or {1}
    return plain == _FIRST and nths == {1} and not _special_month_days(said.month_days)


def _is_last(said: Said) -> bool:
    """The last days of a period only."""
    nths = {nth for _, nth in said.week_days.nth} or {LAST}
    days = said.month_days
    return nths == {LAST} and not (days.mask or days.nearest or said.week_days.mask)


def _once_or_always(cron: Cron, now: datetime | None) -> Ambiguity:
    slot = cron.next_after(now) if now is not None else None
    once: tuple[str, ...] = ()
    if slot is not None:
        once = (f"at {wall_text(slot, cron.timezone)}",)
    return Ambiguity("once, or again and again", cron_words(cron), *once)


def _clock(said: Said) -> Meaning:
    """Seconds, minutes and hours."""
    given = [
        bool(said.times),
        bool(said.readings),
        said.step is not None and said.step[1] in _PARTS,
    ]
    if sum(given) > 1 or (said.window and said.times):
        raise refusals.two_schedules(said)
    if said.window:
        return _in_window(said, said.window)
    if given[2]:
        return _stepped(said)
    if said.readings:
        return _from_readings(said.readings)
    return _from_times(said)


def _from_times(said: Said) -> Meaning:
    hours = minutes = seconds = 0
    for hour, minute, second in said.times or [(0, 0, 0)]:
        hours |= 1 << hour
        minutes |= 1 << minute
        seconds |= 1 << second
    if hours.bit_count() * minutes.bit_count() * seconds.bit_count() != len(set(said.times) or "0"):
        # 09:00 and 17:30 would also mean 09:30 and 17:00.
        raise refusals.two_schedules(said)
    return Meaning(seconds, minutes, hours)


def _from_readings(readings: dict[str, Reading]) -> Meaning:
    """What is left out runs with the clock above the units named, and is 0 below them."""
    hour, minute, second = (readings.get(unit) for unit in ("hour", "minute", "second"))
    hours = hour.mask if hour else FULL_HOURS
    minutes = minute.mask if minute else (1 if hour else FULL_MINUTES)
    seconds = second.mask if second else 1
    runs = hour is None or any(reading.every for reading in readings.values())
    return Meaning(seconds, minutes, hours, is_wildcard=runs)


#: Units of less than a day: how many there are in which whole.
_PARTS = {"second": (60, "minute"), "minute": (60, "hour"), "hour": (24, "day")}


def _stepped(said: Said) -> Meaning:
    """Every 5 minutes, on certain days."""
    assert said.step is not None
    count, unit = said.step
    whole, of = _PARTS[unit]
    if whole % count:
        raise refusals.uneven(said, count, unit, of)
    mask = sum(1 << value for value in range(0, whole, count))
    return _from_readings({unit: Reading(mask, every=True)})


def _in_window(said: Said, window: tuple[tuple[int, int, int], tuple[int, int, int]]) -> Meaning:
    """Every so often between two times of a day."""
    first, last = window
    unit, reading = _window_unit(said)
    if unit == "hour":
        return _hours_in_window(said, reading, first, last)
    if first[1:] != (0, 0) or last[1:] not in {(0, 0), (59, 0)}:
        raise InvalidText(
            f'Expected a window of whole hours, such as 09:00 to 17:00, got "{said.text}"'
        )
    # Up to 17:00 ends with 16:59; so does up to 16:59.
    end = last[0] if last[1] == 59 else last[0] - 1
    hours = _hours_between(said, first[0], end % 24)
    readings = {unit: Reading(reading, every=True), "hour": Reading(hours, every=False)}
    if unit == "second":
        readings["minute"] = Reading(FULL_MINUTES, every=True)
    return _from_readings(readings)


def _window_unit(said: Said) -> tuple[str, int]:
    """The unit of "every 15 minutes" or "every hour", and the mask (for hours, the step)."""
    if said.step and said.step[1] in _PARTS:
        count, unit = said.step
        if unit == "hour":
            return unit, count
        return unit, getattr(_stepped(said), f"{unit}s")
    if len(said.readings) == 1:
        unit, reading = next(iter(said.readings.items()))
        if reading.every:
            return unit, 1 if unit == "hour" else reading.mask
    raise InvalidText(
        f'Expected "every …" with a window, such as "every hour between …", got "{said.text}"'
    )


def _hours_in_window(
    said: Said, step: int, first: tuple[int, int, int], last: tuple[int, int, int]
) -> Meaning:
    hour, minute, second = first
    if last[1:] < first[1:]:
        last = ((last[0] - 1) % 24, *last[1:])
    span = (last[0] - hour) % 24
    if last[0] < hour and _days_given(said):
        raise _over_midnight(said)
    hours = sum(1 << (hour + passed) % 24 for passed in range(0, span + 1, step))
    return Meaning(1 << second, 1 << minute, hours)


def _hours_between(said: Said, first: int, last: int) -> int:
    if last < first and _days_given(said):
        raise _over_midnight(said)
    return sum(1 << (first + passed) % 24 for passed in range((last - first) % 24 + 1))


def _over_midnight(said: Said) -> InvalidText:
    return InvalidText(
        f'"{said.text}" runs over midnight, so its days have two meanings. Make one schedule up to '
        "23:59 and one from 00:00"
    )


def _days_given(said: Said) -> bool:
    return bool(said.month_days or said.week_days or said.months or said.years)


def _with_days(said: Said, clock: Meaning) -> Meaning:
    """Days, months and years, with what a period such as "every month" takes for granted."""
    month_days, week_days = said.month_days, said.week_days
    unset = not (month_days or week_days)
    if said.period in {"month", "quarter", "year"} and unset:
        month_days = Days(mask=_FIRST)
    if said.period == "week" and unset:
        week_days = Days(mask=_SUNDAY)
    return clock._replace(
        month_days=month_days.mask if month_days else _ANY_DAY,
        special_month_days=_special_month_days(month_days),
        week_days=week_days.mask if week_days else _ANY_WEEKDAY,
        special_week_days=WeekDays(tuple(sorted(week_days.nth))) if week_days.nth else None,
        days_joined_by_or=bool(month_days and week_days and not said.falling),
        months=said.months or _months_of(said),
        years=said.years or None,
    )


def _months_of(said: Said) -> int:
    """The months in which a period's days are: its first, or its last for "the last friday"."""
    if said.period not in {"quarter", "year"}:
        return _ANY_MONTH
    first = _QUARTERS if said.period == "quarter" else _JANUARY
    if not (said.month_days or said.week_days) or not _is_last(said):
        return first
    return first << (2 if said.period == "quarter" else 11)


def _special_month_days(days: Days) -> MonthDays | None:
    found = MonthDays(tuple(sorted(days.before_last)), days.last_weekday, days.nearest)
    return None if found == MonthDays() else found


def _counted_period(said: Said, today: date | None) -> None:
    """Every 2 months: from January on. Every 3 days at 9am: which days?"""
    assert said.step is not None
    count, unit = said.step
    if unit == "month" and not said.months and count < 12 and 12 % count == 0:
        said.months = sum(2 << month for month in range(0, 12, count))
    elif count > 1:
        raise which_ones(said, count, unit, today)
    set_period(said, unit)
