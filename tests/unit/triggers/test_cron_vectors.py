"""Facts that other projects' suites and manuals state, and where Rota answers otherwise.

AGREED holds what they and we say alike; DIFFERENT, REFUSED_HERE and ACCEPTED_HERE hold what they
say and we do not, and why. All are asserted, so that a change of mind here changes this file.

A row's firings are written one after the other: each leaves out the date and the offset when they
are those of the one before it, the first when they are those of the moment asked about.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from rota.errors import InvalidCron
from rota.triggers.cron import Cron

EASTERN, RIGA, ATHENS = "America/New_York", "Europe/Riga", "Europe/Athens"
LORD_HOWE, JORDAN = "Australia/Lord_Howe", "Asia/Amman"

Row = tuple[str, str, str, str]  # zone, expression, asked after, fires

AGREED: dict[str, tuple[Row, ...]] = {
    "cronsim": (
        (RIGA, "0 * * * *", "2021-03-28T01:30+02:00", "02:00 04:00+03:00"),
        (RIGA, "0 * * * *", "2021-10-31T01:30+03:00", "02:00 03:00 03:00+02:00 04:00"),
        (RIGA, "*/30 * * * *", "2021-03-28T02:10+02:00", "02:30 04:00+03:00"),
        (RIGA, "0 */2 * * *", "2021-10-31T01:30+03:00", "02:00 04:00+02:00"),
        (RIGA, "30 */2 * * *", "2021-03-28T01:30+02:00", "02:30 04:30+03:00"),
        (RIGA, "0 1,2,3,4,5 * * *", "2021-03-28T01:30+02:00", "02:00 04:00+03:00 05:00"),
        (RIGA, "30 1,2,3,4,5 * * *", "2021-03-28T01:30+02:00", "02:30 04:00+03:00 04:30"),
        (RIGA, "30 1,2,3,4,5 * * *", "2021-10-31T01:30+03:00", "02:30 03:30 04:30+02:00"),
        (RIGA, "0 3 * * *", "2021-03-27T01:30+02:00", "03:00 03-28T04:00+03:00 03-29T03:00"),
        (RIGA, "0 4 * * *", "2021-03-27T01:30+02:00", "04:00 03-28T04:00+03:00 03-29T04:00"),
        (RIGA, "15 3 * * *", "2021-03-27T00:00+02:00", "03:15 03-28T04:00+03:00 03-29T03:15"),
        (RIGA, "0 1-5 * * *", "2021-10-31T01:30+03:00", "02:00 03:00 04:00+02:00"),
        (
            RIGA,
            "0 1,3,5,7,9,11,13,15,17,19,21,23 * * *",
            "2021-03-28T00:30+02:00",
            "01:00 04:00+03:00 05:00",
        ),
        (RIGA, "* 1-6 * * *", "2021-10-31T03:58+03:00", "03:59 03:00+02:00 03:01"),
        (
            "UTC",
            "1 1 1-7 * */7",
            "2020-01-01T00:00",
            "01-05T01:01 02-02T01:01 03-01T01:01 04-05T01:01",
        ),
        (
            "UTC",
            "1 1 * * 5L",
            "2020-01-01T00:00",
            "01-31T01:01 02-28T01:01 03-27T01:01 04-24T01:01",
        ),
        ("UTC", "1 1 * * 0L", "2020-01-01T00:00", "01-26T01:01"),
    ),
    "robfig/cron": (
        ("UTC", "0 20-35/15 * * * *", "2012-07-09T23:45", "07-10T00:20"),
        ("UTC", "15/35 20-35/15 1/2 */2 * *", "2012-07-09T23:35:51", "07-11T01:20:15"),
        ("UTC", "15/35 20-35/15 10-12 * * *", "2012-07-09T23:35:51", "07-10T10:20:15"),
        ("UTC", "0 0 0 9 Apr-Oct ?", "2012-07-09T23:35", "08-09T00:00"),
        ("UTC", "0 0 0 */5 Apr,Aug,Oct Mon", "2012-07-09T23:35", "08-06T00:00"),
        ("UTC", "0 0 0 */5 Oct Mon", "2012-07-09T23:35", "10-01T00:00"),
        ("UTC", "0 0 0 * Feb Mon/2", "2012-07-09T23:35", "2013-02-01T00:00"),
        ("UTC", "0 * * * * *", "2012-12-31T23:59:45", "2013-01-01T00:00"),
        ("UTC", "0 0 0 29 Feb ?", "2012-07-09T23:35", "2016-02-29T00:00"),
        (EASTERN, "0 0 * * * ?", "2012-03-11T00:00-05:00", "01:00 03:00-04:00 04:00"),
        (EASTERN, "0 0 1 * * ?", "2012-03-11T00:00-05:00", "01:00 03-12T01:00-04:00"),
        (EASTERN, "0 0 * * * ?", "2012-11-04T00:00-04:00", "01:00 01:00-05:00 02:00"),
        (EASTERN, "0 0 2 * * ?", "2012-11-04T00:00-04:00", "02:00-05:00 11-05T02:00"),
        (EASTERN, "0 30 2 04 Nov ?", "2012-11-04T00:00-04:00", "02:30-05:00"),
    ),
    "cron-parser": (
        (ATHENS, "0 * * * *", "2016-03-27T02:00:01+02:00", "04:00+03:00 05:00"),
        (ATHENS, "0 3 * * *", "2016-03-27T02:00:01+02:00", "04:00+03:00 03-28T03:00"),
        (ATHENS, "30 2 * * *", "2016-03-27T02:00:01+02:00", "02:30 03-28T02:30+03:00"),
        (ATHENS, "0 * 27 * *", "2016-03-27T00:00:01+02:00", "01:00 02:00 04:00+03:00"),
        (ATHENS, "0 * * * *", "2016-10-30T02:00:01+03:00", "03:00 03:00+02:00 04:00"),
        (ATHENS, "0 3 * * *", "2016-10-30T02:00:01+03:00", "03:00 10-31T03:00+02:00"),
        (
            "UTC",
            "10 2 12 8 6-7",
            "2013-08-05T00:00",
            "08-10T02:10 08-11T02:10 08-12T02:10 08-17T02:10",
        ),
        (
            "UTC",
            "0 0 0 16,18 * 3#3",
            "2019-04-01T00:00",
            "04-16T00:00 04-17T00:00 04-18T00:00 05-15T00:00 05-16T00:00",
        ),
        (
            "UTC",
            "0 0 0 ? MAY 0#2",
            "2023-05-06T00:00",
            "05-14T00:00 2024-05-12T00:00 2025-05-11T00:00 2026-05-10T00:00",
        ),
        (
            "UTC",
            "0 0 0 ? * 0#5",
            "2019-04-30T00:00",
            "06-30T00:00 09-29T00:00 12-29T00:00 2020-03-29T00:00",
        ),
        ("UTC", "0 12 1-31 * 1", "2022-10-30T14:00", "10-31T12:00 11-01T12:00 11-02T12:00"),
        ("UTC", "0 15 */5 5 *", "2019-05-26T16:00", "05-31T15:00 2020-05-01T15:00"),
    ),
    "croniter": (
        ("UTC", "0 0 */3 * *", "2010-02-24T12:09", "02-25T00:00 02-28T00:00 03-01T00:00"),
        ("UTC", "0 0 1 * wed", "2010-01-25T00:00", "01-27T00:00 02-01T00:00 02-03T00:00"),
        ("UTC", "0 0 * * wed#5", "2010-01-25T00:00", "03-31T00:00 06-30T00:00 09-29T00:00"),
        ("UTC", "0 0 l * *", "2015-09-04T00:00", "09-30T00:00 10-31T00:00 11-30T00:00"),
        ("US/Eastern", "30 1 * * *", "2020-10-31T12:00-04:00", "11-01T01:30 11-02T01:30-05:00"),
        ("US/Eastern", "0 2 * * *", "2020-03-07T12:00-05:00", "03-08T03:00-04:00 03-09T02:00"),
    ),
    "croner": (
        ("UTC", "0 0 0 L 2 *", "2023-12-30T00:00", "2024-02-29T00:00"),
        ("UTC", "0 0 0 * 2 THU#L", "2023-12-30T00:00", "2024-02-29T00:00"),
        ("UTC", "0 0 0 19W 7 *", "2025-07-01T00:00", "07-18T00:00"),
        ("UTC", "0 0 0 20W 7 *", "2025-07-01T00:00", "07-21T00:00"),
        ("UTC", "0 0 0 31W 8 *", "2025-08-01T00:00", "08-29T00:00"),
    ),
    "OCPS 1.0": (
        ("UTC", "5-59/15 9 * * *", "2025-03-10T09:00", "09:05 09:20 09:35 09:50"),
        ("UTC", "0 12 1-31 * MON", "2025-10-06T00:00", "12:00 10-07T12:00"),
        ("UTC", "0 12 1 * MON", "2025-09-30T13:00", "10-01T12:00 10-06T12:00"),
    ),
    "OCPS 1.2": (("UTC", "0 0 0 1 1 * 1970-2199/2", "2024-06-01T00:00", "2026-01-01T00:00"),),
    "OCPS 1.3": (
        ("UTC", "0 12 15W * *", "2025-06-01T00:00", "06-16T12:00"),
        ("UTC", "0 12 1W * *", "2025-01-31T00:00", "02-03T12:00"),
    ),
    "Cronos": (
        ("UTC", "0 0 0 L-28 * *", "2017-01-31T00:00", "03-03T00:00"),
        ("UTC", "0 0 0 L-29 * *", "2016-02-01T00:00", "03-02T00:00"),
        ("UTC", "0 30 17 31W * *", "2018-03-30T17:45", "05-31T17:30"),
        ("UTC", "0 30 17 LW * *", "2017-09-29T17:45", "10-31T17:30"),
        ("UTC", "0 0 0 * * tue/2", "2016-12-09T12:00", "12-10T00:00 12-13T00:00"),
        ("UTC", "0 0 0 * * */5", "2016-12-08T12:00", "12-09T00:00 12-11T00:00 12-16T00:00"),
        (
            "UTC",
            "0 57,20/20,30/20,32-34/2,58 * * * *",
            "2017-04-17T17:00",
            "17:20 17:30 17:32 17:34 17:40",
        ),
        (EASTERN, "0 0,30 0-23/2 * * *", "2016-03-13T00:30-05:00", "03:00-04:00"),
        (EASTERN, "0 30 2 * * *", "2016-03-12T02:30-05:00", "03-13T03:00-04:00"),
        (EASTERN, "0 */30 * * * *", "2016-11-06T01:00-04:00", "01:30 01:00-05:00 01:30 02:00"),
        (EASTERN, "0 30 * * * *", "2016-11-06T01:30-04:00", "01:30-05:00 02:30"),
        (
            EASTERN,
            "*/30 0 1 * * *",
            "2016-11-06T01:00:30-04:00",
            "01:00-05:00 01:00:30 11-07T01:00",
        ),
        (EASTERN, "0 0,30 1 * * *", "2016-11-06T01:30-04:00", "11-07T01:00-05:00"),
        (EASTERN, "59 59 01 * * *", "2016-11-06T01:59:59.999999-05:00", "11-07T01:59:59"),
        (JORDAN, "30 0 L * *", "2017-03-30T23:59:59.999999+02:00", "03-31T01:00+03:00 04-30T00:30"),
        (LORD_HOWE, "0 0,30 2 * * *", "2017-10-01T01:45+10:30", "02:30+11:00"),
        (LORD_HOWE, "0 30 * * * *", "2017-04-02T01:30+11:00", "01:30+10:30"),
    ),
    "Quartz": (
        ("UTC", "0 0/5 14,18 * * ?", "2025-01-01T14:50", "14:55 18:00"),
        ("UTC", "0 15 10 L * ?", "2025-02-01T00:00", "02-28T10:15"),
        ("UTC", "0 15 10 L-2 * ?", "2025-02-01T00:00", "02-26T10:15"),
        ("UTC", "0 15 10 * * ? 2026", "2025-02-01T00:00", "2026-01-01T10:15"),
        ("UTC", "0 11 11 11 11 ?", "2025-02-01T00:00", "11-11T11:11"),
    ),
    "vixie cron": (
        (
            "UTC",
            "30 4 1,15 * 5",
            "2025-01-31T05:00",
            "02-01T04:30 02-07T04:30 02-14T04:30 02-15T04:30",
        ),
        ("UTC", "23 0-23/2 * * *", "2025-01-01T21:00", "22:23 01-02T00:23"),
        ("UTC", "5 4 * * sun", "2025-01-01T00:00", "01-05T04:05"),
    ),
}

DIFFERENT: dict[str, tuple[tuple[str, str, str, str, str, str], ...]] = {
    "skipping in the gap loses a day": (
        (
            "robfig/cron",
            EASTERN,
            "0 0 2 * * ?",
            "2012-03-11T00:00-05:00",
            "03-12T02:00-04:00",
            "03:00-04:00",
        ),
    ),
    "skipping in the gap loses a year": (
        (
            "robfig/cron",
            EASTERN,
            "0 30 2 11 Mar ?",
            "2012-03-11T00:00-05:00",
            "2013-03-11T02:30-04:00",
            "03:00-04:00",
        ),
    ),
    "a daily job runs once a day": (
        (
            "robfig/cron",
            EASTERN,
            "0 0 1 * * ?",
            "2012-11-04T01:00-04:00",
            "01:00-05:00",
            "11-05T01:00-05:00",
        ),
    ),
    "shifting puts 02:15 after a 03:00 job": (
        (
            "croner",
            EASTERN,
            "0 30 2 12 3 *",
            "2023-03-12T00:00+00:00",
            "03:30-04:00",
            "03:00-04:00",
        ),
        (
            "croniter",
            "US/Eastern",
            "30 2 * * *",
            "2020-03-08T00:00-05:00",
            "03:30-04:00",
            "03:00-04:00",
        ),
    ),
    "a wildcard fires only when the wall reads it": (
        (
            "cron-parser",
            ATHENS,
            "*/20 3 * * *",
            "2016-03-27T02:00:01+02:00",
            "04:00+03:00",
            "03-28T03:00+03:00",
        ),
        (
            "Cronos",
            EASTERN,
            "0 */30 2 * * *",
            "2016-03-13T01:59-05:00",
            "03:00-04:00",
            "03-14T02:00-04:00",
        ),
    ),
    "a wildcard keeps its pace through the overlap": (
        (
            "cron-parser",
            ATHENS,
            "*/20 3 * * *",
            "2016-10-30T03:40+03:00",
            "10-31T03:00+02:00",
            "03:00+02:00",
        ),
    ),
    "an hourly job keeps its pace": (
        (
            "Cronos",
            EASTERN,
            "0 30 * * 3 SUN#2",
            "2016-03-13T01:59-05:00",
            "03:00-04:00",
            "03:30-04:00",
        ),
    ),
    "only a star makes a wildcard, not a range": (
        (
            "Cronos",
            EASTERN,
            "0 30 1-9 * * *",
            "2016-11-06T01:30-04:00",
            "01:30-05:00",
            "02:30-05:00",
        ),
    ),
    "only a star makes a wildcard, not a step": (
        (
            "Cronos",
            EASTERN,
            "0 0/30 1 * * *",
            "2016-11-06T01:30-04:00",
            "01:00-05:00",
            "11-07T01:00-05:00",
        ),
    ),
    "either day field when both are restricted": (
        ("Cronos", "UTC", "0 5 18 13 * 05", "2016-01-01T19:00", "05-13T18:05", "01-08T18:05"),
    ),
    "the clock rules are the same for every field count": (
        (
            "cronsim",
            EASTERN,
            "0 30 2 * * *",
            "2025-03-09T00:00-05:00",
            "03-10T02:30-04:00",
            "03:00-04:00",
        ),
    ),
    "Sunday is 0, as in every crontab, not 1": (
        ("Quartz", "UTC", "0 15 10 ? * 6L", "2025-01-01T00:00", "01-31T10:15", "01-25T10:15"),
    ),
}

REFUSED_HERE = (
    ("OCPS 1.0", "* * 31 2 *", "never fires"),
    ("OCPS 1.1", "@reboot", "a scheduler has no boot"),
    ("OCPS 1.4", "0 12 1 * +MON", "the star says AND already"),
    ("croner", "/3 * * * * *", "a step of nothing"),
    ("croner", "? ? ? ? ? ?", "`?` is for days"),
    ("croner", "0 0 0 * 2 THU-FRI#L", "a range has no nth"),
    ("croner", "0 0 0 1 1 * 9999", "years end with 2199"),
    ("cronsim", "* * L/2 * *", "a step of one day"),
    ("cronsim", "1 1 */100,1-7 * MON", "a step wider than the field"),
    ("robfig/cron", "TZ=UTC 5 * * * *", "a schedule has its own zone"),
    ("robfig/cron", "@every 5m", "intervals are their own trigger"),
    ("cron-parser", "20 15 * *", "fewer than five fields"),
    ("cron-parser", "", "fewer than five fields"),
    ("croniter", "0 0 29-L * *", "L is a day, not a number"),
    ("Cronos", "* 51-4 * * * *", "a reversed range"),
    ("Cronos", "* * * ? * sat-tue", "a reversed range"),
    ("Cronos", "@every_minute", "not a macro of any crontab"),
    ("Jenkins", "H H * * *", "hashed times are a spread, not a time"),
    ("Quartz", "0 0 12 ? * L", "L alone means Saturday there"),
    ("FreeBSD cron", "@every_second", "not a macro of any other crontab"),
    ("cronie", "0~30 * * * *", "random times cannot be shown beforehand"),
)

ACCEPTED_HERE = (
    ("cronsim", "0 0 * * MONL", "refuses a name before L"),
    ("cronsim", "0 0 * * FRI-SUN", "refuses SUN as a range's end"),
    ("cron-parser", "0 0 0 ? * 0,6#4", "refuses # in a list"),
    ("OCPS 1.1", "@Daily", "takes macros in lower case only"),
)


def instants(after: str, fires: str) -> list[datetime]:
    """The moment asked about, then each firing, written out in full."""
    full = re.compile(r"(?:(?:(\d{4})-)?(\d\d-\d\d)T)?([\d:.]+)([+-].*)?")
    year, day, offset = "", "", "+00:00"
    found: list[datetime] = []
    for text in (after, *fires.split()):
        match = full.fullmatch(text)
        assert match
        year, day, offset = match[1] or year, match[2] or day, match[4] or offset
        found.append(datetime.fromisoformat(f"{year}-{day}T{match[3]}{offset}"))
    return found


AGREED_ROWS = [(source, *row) for source, rows in AGREED.items() for row in rows]
DIFFERENT_ROWS = [row for rows in DIFFERENT.values() for row in rows]


@pytest.mark.parametrize(("source", "zone", "text", "after", "fires"), AGREED_ROWS)
def test_rota_agrees_with_the_other_project_forwards(
    source: str, zone: str, text: str, after: str, fires: str
) -> None:
    trigger = Cron.parse(text, zone)
    slot, *expected = instants(after, fires)
    for wanted in expected:
        found = trigger.next_after(slot)
        assert found == wanted
        slot = wanted


@pytest.mark.parametrize(("source", "zone", "text", "after", "fires"), AGREED_ROWS)
def test_rota_agrees_with_the_other_project_backwards(
    source: str, zone: str, text: str, after: str, fires: str
) -> None:
    trigger = Cron.parse(text, zone)
    _, *expected = instants(after, fires)
    slot = expected[-1] + timedelta(microseconds=1)
    for wanted in reversed(expected):
        assert trigger.previous_before(slot) == wanted
        slot = wanted


@pytest.mark.parametrize("row", DIFFERENT_ROWS, ids="|".join)
def test_rota_answers_otherwise_on_purpose(row: tuple[str, str, str, str, str, str]) -> None:
    _, zone, text, after, theirs, ours = row
    asked, wanted = instants(after, ours)
    slot = Cron.parse(text, zone).next_after(asked)
    assert slot == wanted
    assert slot != instants(after, theirs)[1]


@pytest.mark.parametrize(("source", "text", "why"), REFUSED_HERE)
def test_rota_refuses_what_the_other_project_takes(source: str, text: str, why: str) -> None:
    with pytest.raises(InvalidCron):
        Cron.parse(text)


@pytest.mark.parametrize(("source", "text", "they"), ACCEPTED_HERE)
def test_rota_takes_what_the_other_project_refuses(source: str, text: str, they: str) -> None:
    assert Cron.parse(text).next_after(datetime(2025, 1, 1, tzinfo=UTC)) is not None
