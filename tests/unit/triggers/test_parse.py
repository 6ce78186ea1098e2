"""Whatever a person writes for "when": which kind it is, and what is none of them (TR5 to TR7)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import rota
from rota.errors import (
    InvalidCron,
    InvalidInput,
    InvalidInstant,
    InvalidInterval,
    InvalidText,
    InvalidTimezone,
    InvalidTrigger,
)
from rota.triggers.at import At
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.parse import parse
from rota.triggers.recurrence import Recurrence

NOW = datetime(2026, 7, 29, 14, 20, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "kind"),
    [
        ("0 9 * * *", Cron),
        ("0 9 * * MON-FRI", Cron),
        ("30 0 9 * * MON-FRI", Cron),
        ("0 0 9 * * MON-FRI 2030", Cron),
        ("0 9 1 JAN FRI", Cron),
        ("0 9 1 1 1", Cron),
        ("@daily", Cron),
        (" @hourly ", Cron),
        ("\t0\t9 * * *", Cron),
        ("*/5 * * * *", Cron),
        ("0 9 ? * 2", Cron),
        ("0 9 L * FRI#2", Cron),
        ("every weekday at 9am", Cron),
        ("weekdays @ 9am", Cron),
        ("every hour", Cron),
        ("5m", Interval),
        ("5 minutes", Interval),
        ("every 5m", Interval),
        ("EVERY 5 MINUTES", Interval),
        ("PT5M", Interval),
        ("1h30m", Interval),
        (timedelta(minutes=5), Interval),
        ("2027-01-01", At),
        ("2027-01-01T09:00:00Z", At),
        ("2027-01-01 09:00 Europe/Madrid", At),
        ("2027-01-01 9am", At),
        ("at 2027-01-01 09:00", At),
        ("in 20 minutes", At),
        (NOW, At),
        ("FREQ=DAILY", Recurrence),
        ("freq=daily;byhour=9", Recurrence),
        ("RRULE:FREQ=DAILY", Recurrence),
        ("RRULE:FREQ=DAILY (Europe/Madrid)", Recurrence),
        ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY", Recurrence),
        ("by the rule FREQ=DAILY (Europe/Madrid)", Recurrence),
        ("by the rule FREQ=DAILY, at most 3 times (Europe/Madrid)", Limited),
        ("every 5 minutes, starting 2027-01-01", Limited),
    ],
)
def test_each_kind_is_known(when: str | datetime | timedelta, kind: type) -> None:
    trigger = parse(when, now=NOW)
    assert isinstance(trigger, kind)
    assert rota.parse(when, now=NOW) == trigger


#: Each has something of a trigger, and is none.
MALFORMED = [
    *(
        "",
        " ",
        "   ",
        "\n",
        "\t",
        "\u00a0",
        ".",
        ",",
        "-",
        "*",
        "?",
        "#",
        "@",
        "()",
        "(UTC)",
        "UTC",
    ),
    *("5", "0", "-5", "5-", "0 9", "* * *", "1 2 3 4", "* * * *", "0,9,1", "1 2 3 4 5 6 7 8"),
    *(
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "-1 * * * *",
    ),
    *("* * * * MONDAY", "* * * JANUARY *", "0 9 * * MON-", "0 9 * * -FRI", "0 9 * * FRI-MON"),
    *("*/0 * * * *", "*/90 * * * *", "5-1 * * * *", ",1 * * * *", "1, * * * *", "1,,2 * * * *"),
    *("0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 * 2 MON#6", "0 0 L-31 * *", "0 0 32W * *"),
    *("0 0 15W,16 * *", "0 0 LW-1 * *", "0 0 * * L", "0 0 * * #2", "0 0 ? * ? ?", "? ? * * *"),
    *("0 0 0 1 1 * 1969", "0 0 0 1 1 * 2200", "0 0 0 29 2 * 2027", "0 0 0 1 1 * 20300"),
    *(
        "@every 5m",
        "@reboot",
        "@dailyy",
        "@",
        "@ daily",
        "@daily @hourly",
        "@daily UTC",
        "@1 * * * *",
    ),
    *("TZ=UTC 0 9 * * *", "CRON_TZ=UTC 0 9 * * *", "TZ=UTC", "0 9 * * * TZ=UTC", "tz=UTC @daily"),
    *("0 9 * * 1-5 extra words", "0 9 * * * root", "0 9 * * * /bin/true", "0 9 * * * # comment"),
    *(
        "H H * * *",
        "~ * * * *",
        "0 9 * * 1.5",
        "0x1 * * * *",
        "1e1 * * * *",
        "+1 * * * *",
        "0 9 * *  ",
    ),
    *("\uff10 9 * * *", "0 9 * * \u0661", "0 9 * * *\0", "0 9 * * *\n0 10 * * *", "0 9 * * \u2013"),
    *(
        "every",
        "each",
        "daily daily weekly",
        "at",
        "on",
        "in",
        "the",
        "of",
        "and",
        "or",
        "every at",
    ),
    *("every 5", "every minutes", "every 5 5 minutes", "5 minutes 5 minutes", "every 5 minutess"),
    *("every 0 minutes", "every -5 minutes", "every 1e3 seconds", "every 5 min utes", "minutes 5"),
    *("0m", "-5m", "5m and", "5m ago", "500ms", "101 years", "1 month", "P1M", "P1Y", "PT", "nan"),
    *(
        "2027-02-30",
        "2027-13-01",
        "2027-01-01 25:00",
        "2027-01-01T09:00+99:00",
        "2027-01-01 09:00 9am",
    ),
    *("1899-01-01", "2300-06-01", "9999-12-31T23:59:59Z", "0001-01-01", "20270101", "1785333630"),
    *(
        "FREQ=",
        "FREQ=NEVER",
        "RRULE",
        "RRULE:",
        "DTSTART",
        "EXDATE:20270101",
        "FREQ=DAILY FREQ=DAILY",
    ),
    *("by the rule", "by the rule every day", "by the rule FREQ=DAILY, starting tomorrow (UTC)"),
    *(
        "every day at 9am (Nowhere)",
        "every day at 9am ()",
        "every day at 9am (EST)",
        "FREQ=DAILY (EST)",
    ),
    *("every day at 9am, at most 0 times", "every day, until 2027-01-01, starting 2028-01-01"),
    *("every 5 minutes, counted from 2027-02-30", "x" * 3_000, "every " * 300, "0 " * 1_000),
]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text)[:40])
def test_what_is_malformed_is_refused_as_a_value_error(text: str) -> None:
    for timezone_ in (None, "UTC", "America/New_York"):
        with pytest.raises(ValueError, match=r".+") as refused:
            parse(text, timezone_, now=NOW)
        assert isinstance(refused.value, InvalidInput)
        assert len(str(refused.value)) < 700


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("60 * * * *", InvalidCron),
        ("5", InvalidCron),
        ("0 0 30 2 *", InvalidCron),
        ("@reboot", InvalidCron),
        ("TZ=UTC 0 9 * * *", InvalidCron),
        ("500ms", InvalidInterval),
        ("2027-02-30", InvalidInstant),
        ("every blue moon", InvalidText),
        ("", InvalidTrigger),
    ],
)
def test_a_refusal_is_of_the_kind_that_was_meant(text: str, error: type[InvalidInput]) -> None:
    with pytest.raises(error):
        parse(text, now=NOW)


BAD_ZONE = r"^Invalid timezone: EST\. Use IANA format \(e\.g\., America/New_York\)$"


@pytest.mark.parametrize(
    "when", ["0 9 * * *", "nonsense", "", "5m", NOW, timedelta(0), "2027-02-30"]
)
def test_a_bad_zone_is_refused_first(when: str | datetime | timedelta) -> None:
    # TZ4, word for word.
    with pytest.raises(InvalidTimezone, match=BAD_ZONE) as refused:
        parse(when, "EST", now=NOW)
    assert refused.value.field == "timezone"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "CST", "utc+1", "+15:00", "../etc/passwd"])
def test_zones_that_are_none_are_refused(zone: str) -> None:
    with pytest.raises(InvalidTimezone, match=r"^Invalid timezone: "):
        parse("0 9 * * *", zone)


def test_an_instant_keeps_its_moment_whatever_its_zone() -> None:
    madrid = NOW.astimezone(ZoneInfo("Europe/Madrid"))
    offset = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert parse(madrid) == parse(offset) == parse(NOW) == At(NOW)
    assert parse(madrid, "Asia/Tokyo").timezone == "Asia/Tokyo"


def test_a_datetime_without_a_zone_is_refused() -> None:
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(InvalidInstant, match="expected one with a zone"):
        parse(naive)
    with pytest.raises(InvalidInstant, match="expected one with a zone"):
        parse("in 20 minutes", now=naive)


@pytest.mark.parametrize("year", [1, 1898, 2301, 9999])
@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_a_datetime_beyond_the_calendar_is_refused(year: int, hours: int) -> None:
    there = timezone(timedelta(hours=hours))
    for far in (datetime(year, 1, 1, tzinfo=there), datetime(year, 12, 31, 23, 59, tzinfo=there)):
        with pytest.raises(InvalidInstant):
            parse(far)


@pytest.mark.parametrize("period", [timedelta(0), timedelta(-1), timedelta.max])
def test_a_timedelta_that_is_no_period_is_refused(period: timedelta) -> None:
    with pytest.raises(InvalidInterval):
        parse(period)


@pytest.mark.parametrize("zone", ["UTC", "Z", "+05:30", "Europe/Madrid"])
def test_the_zone_is_kept(zone: str) -> None:
    # TZ1, TZ3.
    name = "UTC" if zone == "Z" else zone
    for when in ("0 9 * * *", "every weekday at 9am", "5m", "2027-01-01", "FREQ=DAILY", NOW):
        assert parse(when, zone, now=NOW).timezone == name
    assert parse("0 9 * * *").timezone == "UTC"


@pytest.mark.parametrize("value", [300, 1.5, None, True, b"5m", date(2027, 1, 1), ["5m"], {}])
def test_other_types_are_refused_in_words(value: Any) -> None:
    for ask in (parse, rota.parse, rota.preview, rota.explain):
        with pytest.raises(InvalidTrigger, match="Expected when to run as a text, a datetime or a"):
            ask(value)


def test_a_date_alone_is_midnight_on_its_wall_clock() -> None:
    assert parse("2027-01-01", "Europe/Madrid") == At(datetime(2026, 12, 31, 23, tzinfo=UTC))
