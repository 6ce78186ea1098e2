"""Which texts are cron expressions and what each field may hold (TR5, TR6, TR7, TR8)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from tests.oracle import cron as oracle
from tests.oracle.clock import clock, epoch

from rota.errors import InvalidCron, InvalidTimezone
from rota.triggers.cron import Cron

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2025, 1, 1, 0, 0, 30, tzinfo=UTC)


def forwards(text: str, start: datetime = START) -> Iterator[datetime]:
    trigger = Cron.parse(text)
    slot = trigger.next_after(start)
    while slot is not None:
        yield slot
        slot = trigger.next_after(slot)


SAME = (
    # Steps run from the start of the field, of the range, or of the number to the maximum.
    ("*/15 * * * *", "0,15,30,45 * * * *"),
    ("7/20 * * * *", "7,27,47 * * * *"),
    ("7-47/20 * * * *", "7,27,47 * * * *"),
    ("*/60 * * * *", "0 * * * *"),
    ("59/60 * * * *", "59 * * * *"),
    ("0 */24 * * *", "0 0 * * *"),
    ("0 4/5 * * *", "0 4,9,14,19 * * *"),
    ("0 0 */31 * *", "0 0 1 * *"),
    ("0 0 1 */12 *", "0 0 1 1 *"),
    ("0 0 1 2/5 *", "0 0 1 2,7,12 *"),
    ("0 0 20/5 * *", "0 0 20,25,30 * *"),
    ("0-10/20 * * * *", "0 * * * *"),
    ("0 5-5 * * *", "0 5 * * *"),
    ("1,2,2,1-3 * * * *", "1-3 * * * *"),
    ("0 0 0 1 1 * 2025/5", "0 0 0 1 1 * 2025-2199/5"),
    ("0 0 0 1 1 * */230", "0 0 0 1 1 * 1970"),
    # Sunday is 0, 7 or SUN; the end of a range makes it 7.
    ("0 0 * * 0", "0 0 * * 7"),
    ("0 0 * * SUN", "0 0 * * 7"),
    ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
    ("0 0 * * 5-7", "0 0 * * 5,6,0"),
    ("0 0 * * SUN-TUE", "0 0 * * 0-2"),
    ("0 0 * * 1/2", "0 0 * * 1,3,5,7"),
    ("0 0 * * TUE/2", "0 0 * * 2,4,6"),
    ("0 0 * * */2", "0 0 * * 0,2,4,6"),
    ("0 0 * * */5", "0 0 * * 0,5"),
    ("0 0 * * */7", "0 0 * * SUN"),
    ("0 0 * * 0-7", "0 0 * * 0-6"),
    ("0 0 * * WED-SUN/2", "0 0 * * 3,5,7"),
    # Names are three letters in any case, and only in their own fields (TR6).
    ("0 9 * * MON-FRI", "0 9 * * 1-5"),
    ("0 9 * * mon-Fri", "0 9 * * 1-5"),
    ("0 9 * jan,jUl *", "0 9 * 1,7 *"),
    ("0 9 * FEB-DEC/5 *", "0 9 * 2,7,12 *"),
    ("0 9 * * mon#2,FRIl", "0 9 * * 1#2,5L"),
    # `?` is `*` in the day fields.
    ("0 0 ? * MON", "0 0 * * MON"),
    ("0 0 13 * ?", "0 0 13 * *"),
    ("0 0 ? * ?", "0 0 * * *"),
    # Last and nth.
    ("0 0 * * 5L", "0 0 * * FRI#L"),
    ("0 0 * * 0L", "0 0 * * 7#L"),
    ("0 0 * * 7#1", "0 0 * * SUN#1"),
    ("0 0 l,lw * *", "0 0 L,LW * *"),
    ("0 0 15w * *", "0 0 15W * *"),
    ("0 0 l-3w * *", "0 0 L-3W * *"),
    ("0 0 L-0W * *", "0 0 LW * *"),
    # Five fields mean second 0, and six mean every year (TR5).
    ("15 10 * * *", "0 15 10 * * *"),
    ("0 15 10 * * *", "0 15 10 * * * 1970-2199"),
    ("5 4 3 * * *", "5 4 3 * * * *"),
    # Macros, in any case.
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
    ("@HOURLY", "@hourly"),
    ("  @daily\t", "@daily"),
    # Leading zeros, and any run of spaces and tabs.
    ("05 09 01 07 *", "5 9 1 7 *"),
    ("  0 \t 9  *\t* * ", "0 9 * * *"),
)


@pytest.mark.parametrize(("text", "other"), SAME)
def test_two_ways_of_writing_it_fire_at_the_same_times(text: str, other: str) -> None:
    first, second = list(islice(forwards(text), 25)), list(islice(forwards(other), 25))
    assert first == second


@pytest.mark.parametrize("text", sorted({text for pair in SAME for text in pair}))
def test_each_accepted_text_fires_when_the_oracle_says(text: str) -> None:
    stop = datetime(2025, 2, 3, tzinfo=UTC)
    utc_clock = clock("UTC")
    expected = oracle.slots(oracle.read(text), utc_clock, epoch(START) + 1, epoch(stop))[:200]
    found = islice((epoch(s) for s in forwards(text) if s < stop), len(expected))
    assert list(found) == expected


@pytest.mark.parametrize("year", [1970, 2025, 2199])
def test_a_year_fires_in_that_year_only(year: int) -> None:
    trigger = Cron.parse(f"30 15 10 4 JUL ? {year}")
    slot = datetime(year, 7, 4, 10, 15, 30, tzinfo=UTC)
    assert trigger.next_after(datetime(year, 1, 1, tzinfo=UTC)) == slot
    assert trigger.previous_before(datetime(year, 12, 31, tzinfo=UTC)) == slot
    assert trigger.next_after(slot) is None
    assert trigger.previous_before(slot) is None


def test_a_past_year_is_a_valid_expression_with_nothing_to_come() -> None:
    assert Cron.parse("0 0 0 1 1 * 1999").next_after(START) is None


REFUSED = (
    # Out of the field's range.
    ("60 * * * *", "minutes", "60"),
    ("* 24 * * *", "hours", "24"),
    ("* * 0 * *", "day of month", "0"),
    ("* * 32 * *", "day of month", "32"),
    ("* * 1,40 * *", "day of month", "40"),
    ("* * * 0 *", "month", "0"),
    ("* * * 1-13 *", "month", "13"),
    ("* * * * 8", "day of week", "8"),
    ("60 * * * * *", "seconds", "60"),
    ("0 0 0 1 1 * 1969", "year", "1969"),
    ("0 0 0 1 1 * 2200", "year", "2200"),
    ("0 0 0 1 1 * 25", "year", "25"),
    ("999999999999999999999 * * * *", "minutes", "999999999999999999999"),
    # Reversed ranges.
    ("30-10 * * * *", "minutes", "30-10"),
    ("* 22-2 * * *", "hours", "22-2"),
    ("* * 5-1 * *", "day of month", "5-1"),
    ("* * * NOV-FEB *", "month", "NOV-FEB"),
    ("* * * * FRI-MON", "day of week", "FRI-MON"),
    ("* * * * SUN-SUN", "day of week", "SUN-SUN"),
    ("* * * * 6-0", "day of week", "6-0"),
    ("57-5/3 * * * * *", "seconds", "57-5"),
    ("0 0 0 1 1 * 2030-2025", "year", "2030-2025"),
    # Steps of zero, or wider than the field.
    ("*/0 * * * *", "minutes", "*/0"),
    ("0 0-12/0 * * *", "hours", "0-12/0"),
    ("*/61 * * * *", "minutes", "*/61"),
    ("*/90 * * * *", "minutes", "*/90"),
    ("5/61 * * * *", "minutes", "5/61"),
    ("0-30/61 * * * * *", "seconds", "0-30/61"),
    ("0 */25 * * *", "hours", "*/25"),
    ("0 0 */32 * *", "day of month", "*/32"),
    ("0 0 1 */13 *", "month", "*/13"),
    ("0 0 * * */8", "day of week", "*/8"),
    ("0 0 0 1 1 * */231", "year", "*/231"),
    # Empty items.
    ("1,,2 * * * *", "minutes", "1,,2"),
    (",1 * * * *", "minutes", ",1"),
    ("0 1, * * *", "hours", "1,"),
    ("0 0 , * *", "day of month", ","),
    ("0 0 * * MON,,FRI", "day of week", "MON,,FRI"),
    # Full names, wrong names, names in other fields.
    ("* * * JANUARY *", "month", "JANUARY"),
    ("* * * SEPT *", "month", "SEPT"),
    ("* * * * MONDAY", "day of week", "MONDAY"),
    ("* * * * TUES", "day of week", "TUES"),
    ("* * * * MON-TUR", "day of week", "TUR"),
    ("* * * * MO", "day of week", "MO"),
    ("* * * MON *", "month", "MON"),
    ("* * * * JAN", "day of week", "JAN"),
    ("* MON * * *", "hours", "MON"),
    ("* * SUN * *", "day of month", "SUN"),
    ("0 0 0 1 1 * JAN", "year", "JAN"),
    # Things that are not numbers, though some parsers take them for one.
    ("-1 * * * *", "minutes", "-1"),
    ("+1 * * * *", "minutes", "+1"),
    ("1.5 * * * *", "minutes", "1.5"),
    ("1_0 * * * *", "minutes", "1_0"),
    ("0x1 * * * *", "minutes", "0x1"),
    ("1e1 * * * *", "minutes", "1e1"),
    ("H * * * *", "minutes", "H"),
    ("0~30 * * * *", "minutes", "0~30"),
    ("0 ! * * *", "hours", "!"),
    # Broken ranges, steps and stars.
    ("1- * * * *", "minutes", "1-"),
    ("1-2-3 * * * *", "minutes", "1-2-3"),
    ("*-5 * * * *", "minutes", "*-5"),
    ("5-* * * * *", "minutes", "5-*"),
    ("/5 * * * *", "minutes", "/5"),
    ("*/ * * * *", "minutes", "*/"),
    ("*/* * * * *", "minutes", "*/*"),
    ("*/-5 * * * *", "minutes", "*/-5"),
    ("1/2/3 * * * *", "minutes", "1/2/3"),
    ("** * * * *", "minutes", "**"),
    ("*5 * * * *", "minutes", "*5"),
    ("5* * * * *", "minutes", "5*"),
    ("* * * */MON *", "month", "*/MON"),
    # `?` is a whole day field or nothing.
    ("? * * * *", "minutes", "?"),
    ("* ? * * *", "hours", "?"),
    ("* * * ? *", "month", "?"),
    ("? * * * * *", "seconds", "?"),
    ("0 0 0 1 1 * ?", "year", "?"),
    ("* * ?/2 * *", "day of month", "?/2"),
    ("* * 1,? * *", "day of month", "1,?"),
    ("* * * * ?,1", "day of week", "?,1"),
    # L and W, only where they mean something.
    ("L * * * *", "minutes", "L"),
    ("* * * L *", "month", "L"),
    ("* * L-0 * *", "day of month", "L-0"),
    ("* * L-31 * *", "day of month", "L-31"),
    ("* * L- * *", "day of month", "L-"),
    ("* * L3 * *", "day of month", "L3"),
    ("* * L/2 * *", "day of month", "L/2"),
    ("* * 29-L * *", "day of month", "29-L"),
    ("* * 5L * *", "day of month", "5L"),
    ("* * WL * *", "day of month", "WL"),
    ("* * W * *", "day of month", "W"),
    ("* * 0W * *", "day of month", "0W"),
    ("* * 32W * *", "day of month", "32W"),
    ("* * 1W,15 * *", "day of month", "1W,15"),
    ("* * 15,1W * *", "day of month", "15,1W"),
    ("* * 1W,15W * *", "day of month", "1W,15W"),
    ("* * 1,L-3W * *", "day of month", "1,L-3W"),
    ("* * L-31W * *", "day of month", "L-31"),
    ("* * L-W * *", "day of month", "L-"),
    ("* * 1-15W * *", "day of month", "1-15W"),
    ("* * 15W-20 * *", "day of month", "15W-20"),
    ("* * 15W/2 * *", "day of month", "15W/2"),
    ("* * *W * *", "day of month", "*W"),
    ("0 15W * * * *", "minutes", "15W"),
    ("* * * * 5W", "day of week", "5W"),
    ("* * * * L", "day of week", "L"),
    ("* * * * LW", "day of week", "LW"),
    ("* * * * 8L", "day of week", "8L"),
    ("* * * * *L", "day of week", "*L"),
    ("* * * * MON-FRIL", "day of week", "MON-FRIL"),
    ("* * * * 5L-6", "day of week", "5L-6"),
    ("* * * * 5L/2", "day of week", "5L/2"),
    # The nth weekday.
    ("* * * * 1#0", "day of week", "1#0"),
    ("* * * * 1#6", "day of week", "1#6"),
    ("* * * * 1#", "day of week", "1#"),
    ("* * * * #2", "day of week", "#2"),
    ("* * * * 1##2", "day of week", "1##2"),
    ("* * * * 1#2#3", "day of week", "1#2#3"),
    ("* * * * 1-3#2", "day of week", "1-3#2"),
    ("* * * * THU-FRI#L", "day of week", "THU-FRI#L"),
    ("* * * * 1#2/2", "day of week", "1#2/2"),
    ("* * * * 1/2#3", "day of week", "1/2#3"),
    ("* * * * 5L#1", "day of week", "5L#1"),
    ("* * * * *#1", "day of week", "*#1"),
    ("* * * * 8#1", "day of week", "8#1"),
    ("* * 1#1 * *", "day of month", "1#1"),
    ("0 12 1 * +MON", "day of week", "+MON"),
)


@pytest.mark.parametrize(("text", "field", "offence"), REFUSED)
def test_what_is_odd_is_refused_naming_the_field_and_the_text(
    text: str, field: str, offence: str
) -> None:
    with pytest.raises(InvalidCron) as caught:
        Cron.parse(text)
    assert caught.value.field == field
    message = str(caught.value)
    assert message.startswith("Invalid cron expression: ")
    assert field in message
    quoted = re.findall(r'"([^"]+)"', message)
    assert any(part.lower() in offence.lower() for part in quoted), message


@pytest.mark.parametrize(("text", "field", "offence"), REFUSED)
def test_the_oracle_refuses_the_same_for_the_same_field(
    text: str, field: str, offence: str
) -> None:
    with pytest.raises(oracle.Refused) as caught:
        oracle.read(text)
    assert caught.value.field == field


def test_each_kind_of_refusal_has_its_own_sentence() -> None:
    texts = ("30-10", "*/0", "*/90", "1,,2", "61", "x")
    sentences: set[str] = set()
    for text in texts:
        with pytest.raises(InvalidCron) as caught:
            Cron.parse(f"{text} * * * *")
        sentences.add(str(caught.value).replace(text, ""))
    for text in ("0 0 30 2 *", "* * * *", "@reboot", "0 0 * * MONDAY"):
        with pytest.raises(InvalidCron) as caught:
            Cron.parse(text)
        sentences.add(str(caught.value).replace(text, ""))
    assert len(sentences) == len(texts) + 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\t",
        "*",
        "* * * *",
        "* * * * * * * *",
        "hello",
        "@",
        "@reboot",
        "@every 5m",
        "@every_minute",
        "@dailyy",
        "@daily 0",
        "@daily 0 0 * * *",
        "daily",
        "TZ=UTC 0 0 * * *",
        "CRON_TZ=Europe/Madrid 0 0 * * *",
        "0 0 * * * /bin/true",
        "\N{ARABIC-INDIC DIGIT THREE} * * * *",
        "\N{FULLWIDTH DIGIT FIVE} * * * *",
        "\N{SUPERSCRIPT ONE} * * * *",
        "0 0 * * MON\N{EN DASH}FRI",
        "0 0\N{NO-BREAK SPACE}* * *",
        "0 0 * * \N{LATIN SMALL LETTER LONG S}un",
        "0 0 * * *\0",
        "0 0 *\n* *",
        "0\r0 * * *",
        "0 0 \v* * *",
        "0 0 * * 1\f",
    ],
)
def test_what_is_not_cron_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidCron, match=r"^Invalid cron expression: "):
        Cron.parse(text)


def test_256_characters_are_read_and_one_more_is_refused() -> None:
    minutes = ",".join(["10"] * 81)
    longest, too_long = f"{minutes} 0-11,13 * * *", f"{minutes} 00-11,13 * * *"
    assert (len(longest), len(too_long)) == (256, 257)
    assert Cron.parse(longest).next_after(START) is not None
    with pytest.raises(InvalidCron, match="256"):
        Cron.parse(too_long)


@pytest.mark.parametrize(
    "text",
    [
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 30,31 2 *",
        "0 0 30-31 2 */2",
        "0 0 30 2 ?",
        "0 0 30W 2 *",
        "0 0 31W 4 *",
        "0 0 L-29 2 *",
        "0 0 L-30 4 *",
        "0 0 */31 * MON#2",
        "0 0 0 29 2 * 2025",
        "0 0 0 29 2 * 2100",
        "0 0 0 * 2 MON#5 2073-2111",
    ],
)
def test_an_expression_that_never_fires_is_refused(text: str) -> None:
    with pytest.raises(InvalidCron, match="never"):
        Cron.parse(text)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("0 0 30 2 MON", datetime(2025, 2, 3, tzinfo=UTC)),
        ("0 0 30 1,2 *", datetime(2025, 1, 30, tzinfo=UTC)),
        ("0 0 30 2,3 *", datetime(2025, 3, 30, tzinfo=UTC)),
        ("0 0 29W 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("0 0 L-28 2 *", datetime(2028, 2, 1, tzinfo=UTC)),
        ("0 0 0 29 2 * 2096-2104", datetime(2096, 2, 29, tzinfo=UTC)),
        ("0 0 0 * 2 MON#5 2073-2112", datetime(2112, 2, 29, tzinfo=UTC)),
    ],
)
def test_an_expression_that_fires_rarely_is_not_mistaken_for_one_that_never_does(
    text: str, slot: datetime
) -> None:
    assert Cron.parse(text).next_after(START) == slot


def test_a_bad_zone_is_refused_with_its_own_error() -> None:
    with pytest.raises(InvalidTimezone) as caught:
        Cron.parse("0 0 * * *", "EST")
    sentence = "Invalid timezone: EST. Use IANA format (e.g., America/New_York)"
    assert str(caught.value) == sentence
