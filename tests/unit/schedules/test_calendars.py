"""A calendar's fields, what they come to, and the field that names one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules import fields as schedule_fields
from rota.schedules.calendars import countries, days, fields, service, spans
from rota.schedules.calendars.calendar import Calendars, Known, Rules
from rota.schedules.errors import InvalidSchedule
from rota.triggers.calendars import Days

TODAY = date(2026, 3, 2)
NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


def resolved(**given: Any) -> Days:
    draft = service.written_out("c", fields.read(given), TODAY)
    return days.decode(draft.days_text)


def test_the_holidays_of_a_country_are_left_out_with_their_names() -> None:
    spain = resolved(country="es", subdivision="Madrid")
    epiphany, community_day = date(2027, 1, 6), date(2027, 5, 2)
    assert not spain.includes(epiphany)
    assert spain.reason(epiphany) == "Epiphany"
    assert not resolved(country="Spain").includes(epiphany)
    assert not spain.includes(community_day) or not spain.includes(date(2027, 5, 3))
    assert spain.includes(date(2027, 1, 7))


def test_holidays_reach_from_years_back_to_ten_years_ahead() -> None:
    holidays = resolved(country="US")
    assert not holidays.includes(date(TODAY.year - days.YEARS_BACK, 12, 25))
    assert not holidays.includes(date(TODAY.year + days.YEARS_AHEAD, 12, 25))
    assert holidays.includes(date(TODAY.year + days.YEARS_AHEAD + 1, 12, 25))


def test_dates_ranges_and_weekdays_are_left_out_and_exceptions_are_not() -> None:
    found = resolved(
        dates=["2026-12-24/2026-12-26", "2027-01-01"],
        weekdays=["SAT", "sunday"],
        except_dates=["2026-12-26", "2026-12-27"],
    )
    assert not found.includes(date(2026, 12, 24))
    assert not found.includes(date(2027, 1, 1))
    assert found.includes(
        date(2026, 12, 26)
    )  # A Saturday, and in the range; but it is an exception
    assert found.includes(date(2026, 12, 27))  # a Sunday.
    assert not found.includes(date(2027, 1, 2))
    assert found.reason(date(2027, 1, 2)) == "Saturday"


@pytest.mark.parametrize(
    ("given", "field", "part"),
    [
        ({}, "country", "expected a country, dates or weekdays"),
        ({"country": "Spian"}, "country", "Did you mean ES, "),
        ({"country": "Atlantis"}, "country", "two letters"),
        ({"country": "ES", "subdivision": "Mad"}, "subdivision", "MD"),
        ({"country": "MT", "subdivision": "X"}, "subdivision", "no holidays by subdivision"),
        ({"subdivision": "MD"}, "subdivision", "beside country"),
        ({"dates": ["2026-02-30"]}, "dates", "2026-02-30"),
        ({"dates": ["2026-03-02/2026-03-01"]}, "dates", "range"),
        ({"dates": ["1066-10-14"]}, "dates", "1970 to 2199"),
        ({"dates": ["1970-01-01/2199-01-01"]}, "dates", "at most 5,000"),
        ({"dates": "2026-01-01"}, "dates", "a list"),
        ({"weekdays": ["caturday"]}, "weekdays", "a list of days"),
        ({"weekdays": list(fields.WEEKDAYS)}, "weekdays", "at most six"),
        ({"weekdays": ["sun"], "holiday": "x"}, "holiday", "Unknown field"),
        ({"weekdays": ["sun"], "version": 3}, "version", "set by Rota"),
    ],
)
def test_what_cannot_be_a_calendar_is_refused(given: Any, field: str, part: str) -> None:
    with pytest.raises(fields.InvalidCalendar) as refused:
        fields.read(given)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert part in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 101, "-a", "a/b", "a\n"])
def test_a_name_is_letters_digits_and_a_few_signs(name: str) -> None:
    assert not fields.is_name(name)
    with pytest.raises(fields.InvalidCalendar):
        fields.check_name(name)


def test_every_country_can_be_written_out() -> None:
    assert countries.country("usa") == countries.country("United States") == "US"
    for code in ("ES", "DE", "IN", "JP", "BR", "NG", "SA", "IL", "CN"):
        assert countries.dates(code, None, [2027]), code


@given(
    st.frozensets(st.dates(date(1970, 1, 1), date(2199, 12, 31)), max_size=8),
    st.frozensets(st.integers(0, 6), max_size=6),
    st.frozensets(st.dates(date(1970, 1, 1), date(2199, 12, 31)), max_size=4),
)
def test_days_come_back_from_storage_as_they_were(
    excluded: frozenset[date], weekdays: frozenset[int], kept: frozenset[date]
) -> None:
    names = dict.fromkeys(list(excluded)[:2], "Some day")
    given = Days(excluded, weekdays, kept, names)
    stored = days.decode(days.encode(given))
    assert stored == given
    assert stored.names == names


@given(st.dates(date(1970, 1, 1), date(2198, 12, 31)), st.integers(0, 300))
def test_a_range_is_each_of_its_dates(first: date, more: int) -> None:
    last = date.fromordinal(first.toordinal() + more)
    found = list(spans.dates([f"{first.isoformat()}/{last.isoformat()}"]))
    assert found == [date.fromordinal(first.toordinal() + each) for each in range(more + 1)]


KNOWN = Calendars(
    {"spain": Known("spain", 3, Days(frozenset({date(2026, 3, 3)})))}, others=("spain", "office")
)


def read(**given: Any) -> schedule_fields.Parsed:
    base = {"name": "a", "cron_expr": "0 9 * * *", "target_url": "https://example.com"}
    return schedule_fields.read({**base, **given}, now=NOW, calendars=KNOWN)


def test_a_schedule_has_no_slot_on_a_date_that_its_calendar_leaves_out() -> None:
    parsed = read(calendar="spain")
    assert parsed.next_slot == datetime(2026, 3, 4, 9, tzinfo=UTC)
    assert parsed.definition.calendar == "spain"
    assert read().next_slot == datetime(2026, 3, 3, 9, tzinfo=UTC)
    limited = read(calendar="spain", max_firings=1)
    assert limited.next_slot == datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"calendar": "spian"}, "such as spain"),
        ({"calendar": 7}, "text"),
        ({"calendar": "spain", "cron_expr": None, "on_demand": True}, "no slots"),
    ],
)
def test_a_calendar_that_is_not_there_is_refused_with_near_names(given: Any, part: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        read(**given)
    assert [problem.field for problem in refused.value.problems] == ["calendar"]
    assert part in str(refused.value)


def test_a_schedule_that_would_never_fire_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="No upcoming schedule"):
        read(cron_expr=None, run_at="2026-03-03T09:00:00Z", calendar="spain")


def test_rules_read_back_as_they_were_given() -> None:
    given = {"country": "ES", "subdivision": "MD", "weekdays": ["sunday"], "dates": ["2026-08-15"]}
    rules = fields.read(given)
    assert fields.read({k: v for k, v in fields.write(rules).items() if v}) == rules
    assert isinstance(rules, Rules)
