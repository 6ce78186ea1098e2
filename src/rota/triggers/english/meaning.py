"""What the parts of a text mean together: `Said` to a trigger."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from rota.errors import InvalidText
from rota.triggers.at import At, first_reading
from rota.triggers.civil import floor_second
from rota.triggers.cron import Cron
from rota.triggers.cron.special import MonthDays, WeekDays
from rota.triggers.cron.text import FULL_HOURS, FULL_MINUTES, Meaning, write
from rota.triggers.english import refusals
from rota.triggers.english.said import Days, Reading, Said
from rota.triggers.english.words import clock_text

if TYPE_CHECKING:
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
    if said.delay is not None:
        return At(_now(said, now) + said.delay, in_zone.name)
    if said.date is not None or said.relative_day is not None:
        return _once(said, in_zone, now)
    if said.month_days and said.week_days:
        refusals.day_fields(said)
    meaning = _with_days(said, _clock(said))
    cron = Cron.parse(write(meaning), in_zone.name)
    if not said.repeats:
        raise _once_or_always(said, cron, now)
    return cron


def _now(said: Said, now: datetime | None) -> datetime:
    if now is None:
        raise InvalidText(f'"{said.text}" counts from now, and no present instant was given')
    floor_second(now)
    return now.astimezone(UTC).replace(microsecond=0)


def _once(said: Said, in_zone: Zone, now: datetime | None) -> At:
    recurring = said.repeats or said.readings or said.step or said.window
    if recurring or said.month_days or said.week_days or said.months or said.years:
        raise refusals.two_schedules(said)
    if len(said.times) > 1:
        raise refusals.two_schedules(said)
    day = said.date
    if day is None:
        present = floor_second(_now(said, now))
        local = datetime.fromtimestamp(present + in_zone.offset_at(present), UTC)
        day = local.date() + timedelta(days=said.relative_day or 0)
    if not said.times:
        raise InvalidText(f'Expected a time of day, such as "{said.text} at 09:00"')
    wall = datetime.combine(day, time(*said.times[0]))
    floor_second(wall.replace(tzinfo=UTC))
    return At(first_reading(wall, in_zone), in_zone.name)


def _once_or_always(said: Said, cron: Cron, now: datetime | None) -> InvalidText:
    always = f"every {said.text.lower().removeprefix('on ').removeprefix('the ')}"
    if not (said.week_days.mask or said.months):
        always = (
            f"every month {said.text.lower()}"
            if said.month_days
            else f"every day {said.text.lower()}"
        )
    once = "2027-01-04 09:00"
    slot = cron.next_after(now) if now is not None else None
    if slot is not None:
        local = slot + timedelta(seconds=cron.zone.offset_at(floor_second(slot)))
        once = f"{local:%Y-%m-%d} {clock_text(local.hour, local.minute, local.second)}"
    return refusals.ambiguous(said.text, "once, or again and again", always, f"at {once}")


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
    months = said.months or _ANY_MONTH
    month_days, week_days = said.month_days, said.week_days
    period = said.period
    if said.step and said.step[1] not in _PARTS:
        period, months = _counted_period(said)
    unset = not (month_days or week_days)
    if period == "quarter":
        months = said.months or _QUARTERS
    if period == "year" and not said.months:
        months = _JANUARY
    if period in {"month", "quarter", "year"} and unset:
        month_days = Days(mask=_FIRST)
    if period == "week" and unset:
        week_days = Days(mask=_SUNDAY)
    return clock._replace(
        month_days=month_days.mask if month_days else _ANY_DAY,
        special_month_days=_special_month_days(month_days),
        week_days=week_days.mask if week_days else _ANY_WEEKDAY,
        special_week_days=WeekDays(tuple(sorted(week_days.nth))) if week_days.nth else None,
        days_joined_by_or=bool(month_days and week_days and not said.falling),
        months=months,
        years=said.years or None,
    )


def _special_month_days(days: Days) -> MonthDays | None:
    found = MonthDays(tuple(sorted(days.before_last)), days.last_weekday, days.nearest)
    return None if found == MonthDays() else found


def _counted_period(said: Said) -> tuple[str, int]:
    """Every 2 months: from January on. Every 3 days at 9am: which days?"""
    assert said.step is not None
    count, unit = said.step
    if unit == "month" and not said.months and count < 12 and 12 % count == 0:
        return "month", sum(2 << month for month in range(0, 12, count))
    if unit == "quarter" and count == 1:
        return "quarter", _QUARTERS
    if unit in {"day", "week"} and count == 1:
        return unit, said.months or _ANY_MONTH
    raise refusals.ambiguous(
        said.text,
        f"it does not say which {unit}s it begins with",
        *_counted_choices(count, unit, said),
    )


def _counted_choices(count: int, unit: str, said: Said) -> tuple[str, ...]:
    frequency = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}.get(unit)
    if frequency is None:
        return (f"RRULE:FREQ=MONTHLY;INTERVAL={count * 3}", "every quarter")
    rule = f"RRULE:FREQ={frequency};INTERVAL={count}{refusals.rule_times(said)}"
    plain = (f"every {count} {unit}s",) if unit in {"day", "week"} else (f"every {unit}",)
    return (rule, *plain)
