"""`rota next` and `rota explain`, as people and programs run them (TR7, TR8, TZ4, TZ9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.process.test_cli_program import _on_a_terminal as on_a_terminal
from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from pathlib import Path

FORWARD = "clocks go forward 1h on 2025-03-09: 02:00 becomes 03:00; 02:30 does not exist that day"


def test_next_shows_the_zone_and_utc_in_columns(tmp_path: Path) -> None:
    shown = run(
        tmp_path,
        *(
            "next",
            "30 2 * * *",
            "--tz",
            "America/New_York",
            "--after",
            "2025-03-08 00:00",
            "-n",
            "3",
        ),
    )
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "every day at 02:30 (America/New_York)",
        "   America/New_York             UTC",
        "1  Sat 2025-03-08 02:30 -05:00  2025-03-08 07:30",
        f"2  Sun 2025-03-09 03:00 -04:00  2025-03-09 07:00  {FORWARD}",
        "3  Mon 2025-03-10 02:30 -04:00  2025-03-10 06:30",
    ]


def test_utc_alone_is_shown_once(tmp_path: Path) -> None:
    shown = run(tmp_path, "next", "every 90 seconds", "--after", "2025-01-01", "-n", "2")
    assert shown.out.splitlines() == [
        "every 1 minute and 30 seconds",
        "   UTC",
        "1  Wed 2025-01-01 00:01:30",
        "2  Wed 2025-01-01 00:03:00",
    ]


def test_ten_are_shown_unless_said(tmp_path: Path) -> None:
    shown = run(tmp_path, "next", "0 9 * * *", "--after", "2025-01-01")
    assert len(shown.out.splitlines()) == 12
    assert shown.out.splitlines()[2].startswith(" 1  ")
    assert shown.out.splitlines()[-1] == "10  Fri 2025-01-10 09:00"


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("--tz", "Europe/Madrid", "--after", "2025-06-01 09:00"), "2025-06-02T07:00:00Z"),
        (("--tz", "Europe/Madrid", "--after", "2025-06-01 08:59"), "2025-06-01T07:00:00Z"),
        (("--tz", "Europe/Madrid", "--after", "2025-06-01T07:00Z"), "2025-06-02T07:00:00Z"),
        (("--tz", "Europe/Madrid", "--after", "2025-06-01T12:29+05:30"), "2025-06-01T07:00:00Z"),
        (("--after", "2025-06-01 09:00"), "2025-06-02T09:00:00Z"),
    ],
)
def test_after_is_read_in_the_zone_unless_it_has_its_own(
    tmp_path: Path, arguments: tuple[str, ...], first: str
) -> None:
    shown = run(tmp_path, "next", "0 9 * * *", "-n", "1", "--json", *arguments)
    assert shown.json["slots"][0]["utc"] == first


def test_a_zone_in_the_text_holds_for_after_too(tmp_path: Path) -> None:
    text = "every day at 9am Europe/Madrid"
    shown = run(tmp_path, "next", text, "--after", "2025-06-01 08:59", "-n", "1", "--json")
    assert shown.json["slots"][0]["local"] == "2025-06-01T09:00:00+02:00"


def test_after_is_the_present_of_relative_texts(tmp_path: Path) -> None:
    shown = run(tmp_path, "next", "tomorrow at 5pm", "--after", "2025-06-01 12:00", "--json")
    assert [slot["utc"] for slot in shown.json["slots"]] == ["2025-06-02T17:00:00Z"]


def test_json_is_for_programs(tmp_path: Path) -> None:
    shown = run(
        tmp_path,
        *("next", "*/15 2 * * *", "--tz", "America/New_York", "--after", "2025-03-09T06:50Z"),
        *("-n", "1", "--json"),
    )
    assert (shown.code, shown.err) == (0, "")
    assert shown.json.keys() == {"explanation", "timezone", "signature", "warnings", "slots"}
    assert (
        shown.json["explanation"] == "every 15 minutes between 02:00 and 02:59 (America/New_York)"
    )
    assert shown.json["timezone"] == "America/New_York"
    assert shown.json["signature"] == "cron:*/15 2 * * *:America/New_York"
    assert len(shown.json["warnings"]) == 1
    assert shown.json["slots"] == [
        {
            "local": "2025-03-10T02:00:00-04:00",
            "utc": "2025-03-10T06:00:00Z",
            "note": "clocks go forward 1h on 2025-03-09: 02:00 becomes 03:00",
        }
    ]


def test_explain_says_it_in_english(tmp_path: Path) -> None:
    shown = run(tmp_path, "explain", "0 9 * * MON-FRI", "--tz", "Europe/Madrid")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == "every weekday at 09:00 (Europe/Madrid)\n"


def test_explain_warns_and_has_json(tmp_path: Path) -> None:
    plain = run(tmp_path, "explain", "0 9 1 * MON").out.splitlines()
    assert plain[0] == "on the 1st of the month or every Monday at 09:00 (UTC)"
    assert plain[1].startswith("! Both day of month and day of week are given")
    found = run(tmp_path, "explain", "0 9 1 * MON", "--json").json
    assert found.keys() == {"explanation", "timezone", "signature", "warnings"}
    assert found["explanation"] == plain[0]
    assert [f"! {warning}" for warning in found["warnings"]] == plain[1:]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("next", "60 * * * *"), "Invalid cron expression: minutes field: expected 0 to 59"),
        (("next", "0 0 30 2 *"), "Invalid cron expression: expected a date that exists"),
        (("next", "every blue moon"), 'Not understood: "blue moon" in "every blue moon"'),
        (("explain", "every other week"), '"every other week" has more than one meaning'),
        (("next", "2020-01-01"), "No upcoming schedule found: at:2020-01-01T00:00:00Z has no slot"),
        (
            ("next", "0 9 * * *", "--tz", "EST"),
            "Invalid timezone: EST. Use IANA format (e.g., America/New_York)",
        ),
        (("next", "0 9 * * *", "--after", "yesterday"), "Invalid instant: expected one such as"),
        (("explain", ""), 'Expected when to run, such as "every weekday at 9am", got nothing'),
    ],
)
def test_what_is_refused_is_a_sentence_on_stderr(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    shown = run(tmp_path, *arguments)
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith(f"Error: {sentence}")
    assert shown.err.count("\n") == 1
    assert run(tmp_path, *arguments, "--json").err == shown.err or "no slot after" in shown.err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("next",), ("explain",), ("next", "5m", "6m"), ("next", "5m", "-n", "0")),
        *(("next", "5m", "-n", "10001"), ("next", "5m", "-n", "x"), ("next", "5m", "--bogus")),
    ],
)
def test_wrong_usage_exits_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shown = run(tmp_path, *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert "Usage: rota" in shown.err
    assert "Traceback" not in shown.err


def test_a_terminal_gets_colour_unless_it_asks_for_none(tmp_path: Path) -> None:
    arguments = (
        "next",
        "30 2 * * *",
        "--tz",
        "America/New_York",
        "--after",
        "2025-03-08",
        "-n",
        "2",
    )
    coloured = on_a_terminal(tmp_path, *arguments)
    assert "\x1b[1mevery day at 02:30 (America/New_York)\x1b[0m" in coloured
    assert f"\x1b[33m{FORWARD}" in coloured
    plain = on_a_terminal(tmp_path, *arguments, NO_COLOR="1")
    assert "\x1b" not in plain
    assert FORWARD in plain


def test_words_that_look_like_markup_are_printed_as_they_are(tmp_path: Path) -> None:
    shown = run(tmp_path, "next", "[red]every day[/red]")
    assert '"[red]every day[/red]"' in shown.err
