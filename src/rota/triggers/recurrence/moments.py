"""Points in time as iCalendar writes them: 20250131, 20250131T090000, 20250131T090000Z."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from rota.triggers.civil import FIRST_YEAR, LAST_YEAR, wall_second
from rota.triggers.recurrence.rule import refusal

_MOMENT = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z)?)?")


class Moment(NamedTuple):
    """A date, a reading of some wall clock, or (with Z) an instant: seconds since 1970 there."""

    second: int
    is_date: bool
    is_utc: bool

    @staticmethod
    def parse(part: str, text: str, *, last_year: int = LAST_YEAR) -> Moment:
        match = _MOMENT.fullmatch(text.upper())
        if match is None:
            raise refusal(part, "a date or time such as 20250131T090000 or 20250131T090000Z", text)
        day, time, utc = match.groups()
        try:
            read = datetime.strptime(day + (time or "000000"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            raise refusal(part, "a date and time that exist", text) from None
        if not FIRST_YEAR <= read.year <= last_year:
            raise refusal(part, f"a year from {FIRST_YEAR} to {last_year}", text)
        return Moment(wall_second(read), is_date=time is None, is_utc=utc is not None)
