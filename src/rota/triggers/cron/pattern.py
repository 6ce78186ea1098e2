"""What an expression means, as bit masks; and the search for wall-clock times that match it.

No zone is known here: times are seconds since 1970-01-01 00:00 on the wall clock's own reading. A
whole month is decided at once, because its matching days are one mask; hours, minutes and seconds
likewise. So a search looks at a few integers, however far away the match.
"""

from __future__ import annotations

from bisect import bisect_right

from rota.triggers.civil import ALL_DAYS, BEGIN, DAY, END, FIRST_DAYS, MONTH_COUNT
from rota.triggers.cron.special import MonthDays, WeekDays, every_week

ANY_MONTH_DAY = ALL_DAYS[0]
ANY_WEEKDAY = 0x7F


def lowest(mask: int) -> int:
    """The index of the lowest bit set."""
    return (mask & -mask).bit_length() - 1


class Pattern:
    """The masks of an expression. Immutable by habit; equal when the meaning is equal.

    Bit n stands for the value n: second, minute, hour, day of the month, month (January is 1).
    Weekdays have bit 0 for Sunday. Years have bit 0 for the calendar's first; None is every year.
    """

    __slots__ = (
        "hours",
        "is_wildcard",
        "minutes",
        "month_days",
        "month_days_open",
        "months",
        "seconds",
        "special_month_days",
        "special_week_days",
        "week_days",
        "week_days_open",
        "years",
    )

    seconds: int
    minutes: int
    hours: int
    month_days: int
    week_days: int
    months: int
    years: int | None
    special_month_days: MonthDays | None
    special_week_days: WeekDays | None
    is_wildcard: bool
    """Seconds, minutes or hours began with a star: it follows the wall clock through changes."""
    month_days_open: bool
    """The field began with a star (`*`, `*/2`) or is `?`."""
    week_days_open: bool

    @property
    def days_joined_by_or(self) -> bool:
        """Both day fields are restricted: a day that either names will do."""
        return not (self.month_days_open or self.week_days_open)

    def identity(self) -> tuple[object, ...]:
        """All that the meaning consists of."""
        return (
            (self.seconds, self.minutes, self.hours, self.is_wildcard),
            (self.month_days, self.special_month_days, self.week_days, self.special_week_days),
            (self.days_joined_by_or, self.months, self.years),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(self.identity())

    def days_of(self, month: int) -> int:
        """The matching days of a month; none where the month or its year is not named."""
        if not self.months >> month % 12 + 1 & 1:
            return 0
        if self.years is not None and not self.years >> month // 12 & 1:
            return 0
        days = self.month_days
        if self.special_month_days is not None:
            days |= self.special_month_days.of(month)
        if self.week_days != ANY_WEEKDAY or not self.week_days_open:
            weekdays = every_week(self.week_days, month)
            if self.special_week_days is not None:
                weekdays |= self.special_week_days.of(month)
            if self.month_days_open or self.week_days_open:
                days &= weekdays
            else:
                days |= weekdays
        return days & ALL_DAYS[month]

    def first_from(self, local: int) -> int | None:
        """The first matching time at or after; None when the calendar ends first."""
        day, second = divmod(local, DAY)
        month = bisect_right(FIRST_DAYS, day) - 1
        if month >= MONTH_COUNT:
            return None
        if month < 0:
            return self.first_from(BEGIN)
        today = day - FIRST_DAYS[month] + 1
        days = self.days_of(month) >> today
        if days & 1:
            time = self._time_from(second)
            if time is not None:
                return day * DAY + time
            days -= 1
        while not days:
            month = self._month_after(month)
            if month >= MONTH_COUNT:
                return None
            today = 0
            days = self.days_of(month)
        day = FIRST_DAYS[month] + today + lowest(days) - 1
        return (
            day * DAY + lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        )

    def last_until(self, local: int) -> int | None:
        """The last matching time at or before; None when the calendar begins first."""
        day, second = divmod(local, DAY)
        month = bisect_right(FIRST_DAYS, day) - 1
        if month < 0:
            return None
        if month >= MONTH_COUNT:
            return self.last_until(END - 1)
        today = day - FIRST_DAYS[month] + 1
        days = self.days_of(month) & (2 << today) - 1
        if days >> today:
            time = self._time_until(second)
            if time is not None:
                return day * DAY + time
            days -= 1 << today
        while not days:
            month = self._month_before(month)
            if month < 0:
                return None
            days = self.days_of(month)
        day = FIRST_DAYS[month] + days.bit_length() - 2
        hour, minute = self.hours.bit_length() - 1, self.minutes.bit_length() - 1
        return day * DAY + hour * 3600 + minute * 60 + self.seconds.bit_length() - 1

    def _month_after(self, month: int) -> int:
        """The next later month whose name matches, of whatever year."""
        number = month % 12 + 1
        later = self.months >> number + 1
        return month + 1 + lowest(later or self.months >> 1 << 12 - number)

    def _month_before(self, month: int) -> int:
        """The next earlier month whose name matches, of whatever year."""
        number = month % 12 + 1
        earlier = self.months & (1 << number) - 1
        if earlier:
            return month - number + earlier.bit_length() - 1
        return month - number + self.months.bit_length() - 1 - 12

    def _time_from(self, second: int) -> int | None:
        """The first matching time of a day at or after."""
        hour = second // 3600
        if self.hours >> hour & 1:
            minute, second = second // 60 % 60, second % 60
            if self.minutes >> minute & 1 and (later := self.seconds >> second):
                return hour * 3600 + minute * 60 + second + lowest(later)
            if later := self.minutes >> minute + 1:
                minute += 1 + lowest(later)
                return hour * 3600 + minute * 60 + lowest(self.seconds)
        if later := self.hours >> hour + 1:
            hour += 1 + lowest(later)
            return hour * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return None

    def _time_until(self, second: int) -> int | None:
        """The last matching time of a day at or before."""
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        last_second = self.seconds.bit_length() - 1
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (earlier := self.seconds & (2 << second) - 1):
                return hour * 3600 + minute * 60 + earlier.bit_length() - 1
            if earlier := self.minutes & (1 << minute) - 1:
                return hour * 3600 + (earlier.bit_length() - 1) * 60 + last_second
        if earlier := self.hours & (1 << hour) - 1:
            last_minute = self.minutes.bit_length() - 1
            return (earlier.bit_length() - 1) * 3600 + last_minute * 60 + last_second
        return None
