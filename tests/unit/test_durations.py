"""Lengths of time in text (TR3)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota import durations
from rota.durations import InvalidDuration, compact, parse, words

SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=count) for count in (1, 60, 3_600, 86_400))


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("5m", 5 * MINUTE),
        ("5 m", 5 * MINUTE),
        ("5min", 5 * MINUTE),
        ("5 mins", 5 * MINUTE),
        ("5 minutes", 5 * MINUTE),
        ("1 minute", MINUTE),
        ("90s", 90 * SECOND),
        ("90 SECONDS", 90 * SECOND),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("1 hour, 30 minutes", 90 * MINUTE),
        ("1 hour and 30 minutes", 90 * MINUTE),
        ("1 hour, and 30 minutes", 90 * MINUTE),
        ("1 day, 2 hours, 3 minutes and 4 seconds", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND),
        ("1.5h", 90 * MINUTE),
        ("0.5 days", 12 * HOUR),
        ("250ms", SECOND / 4),
        ("1s250ms", 1.25 * SECOND),
        ("2w", 14 * DAY),
        ("1w2d3h4m5s", 9 * DAY + 3 * HOUR + 4 * MINUTE + 5 * SECOND),
        ("  5   m ", 5 * MINUTE),
        ("0s", timedelta()),
        ("PT5M", 5 * MINUTE),
        ("pt5m", 5 * MINUTE),
        ("P1D", DAY),
        ("P1W", 7 * DAY),
        ("P1DT2H3M4S", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND),
        ("PT1.5S", 1.5 * SECOND),
        ("PT0.000001S", timedelta(microseconds=1)),
    ],
)
def test_a_length_is_read(text: str, length: timedelta) -> None:
    assert parse(text) == length


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "5",
            "m",
            "-5m",
            "+5m",
            "5x",
            "5m5m",
            "30m1h",
            "5m and",
            "5m,",
            "5m, and",
            "and 5m",
        ),
        *("5m and and 3s", "5m,,3s", "5m ; 3s", "1h30", "1:30", "1,5h", "1e3s", "five minutes"),
        *("P", "PT", "P1", "PT5", "P1Y", "P1M", "P-1D", "PT1H30", "1DT2H", "P1DT", "PTT5M"),
        *("1 month", "2 years", "٣m", "\uff15m", "5\u200bm", "5µs", "0.0000001s", "1.0000000001s"),
        *("9" * 13 + "s", "999999999999w", "5m" * 40, "nan", "inf", "None", "true"),
    ],
)
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(InvalidDuration, match=r"^expected "):
        parse(text)


@pytest.mark.parametrize("text", ["1 month", "every year", "2 years"])
def test_months_and_years_have_no_fixed_length(text: str) -> None:
    with pytest.raises(InvalidDuration, match="months and years have no fixed length"):
        parse(text)


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(InvalidDuration) as refused:
        parse("x" * 10_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("length", "short", "long"),
    [
        (timedelta(), "0s", "0 seconds"),
        (SECOND, "1s", "1 second"),
        (90 * MINUTE, "1h30m", "1 hour and 30 minutes"),
        (14 * DAY, "14d", "14 days"),
        (DAY + HOUR + SECOND, "1d1h1s", "1 day, 1 hour and 1 second"),
        (1.5 * SECOND, "1s500ms", "1 second and 500 milliseconds"),
    ],
)
def test_a_length_is_written(length: timedelta, short: str, long: str) -> None:
    assert compact(length) == short
    assert words(length) == long


@given(st.integers(0, 10**14))
def test_what_is_written_is_read_again(milliseconds: int) -> None:
    length = timedelta(milliseconds=milliseconds)
    assert parse(compact(length)) == length
    assert parse(words(length)) == length
    assert parse(words(length).upper()) == length


@given(st.text(max_size=80) | st.text("0123456789.wdhmsPT ,and-", max_size=80))
def test_only_the_declared_error_escapes(text: str) -> None:
    try:
        assert parse(text) >= timedelta()
    except InvalidDuration:
        return


def test_the_longest_text_is_enough_for_the_longest_words() -> None:
    longest = (
        999_999_999 * DAY + 23 * HOUR + 59 * MINUTE + 59 * SECOND + timedelta(milliseconds=999)
    )
    assert len(words(longest)) <= durations.MAX_LENGTH
    assert parse(words(longest)) == longest
