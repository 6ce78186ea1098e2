"""The options of `rota add` and `rota edit`, before any server hears of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.process.test_cli_program import run

from rota.cli import fields

if TYPE_CHECKING:
    from pathlib import Path

BESIDE = {"ROTA_URL": "http://127.0.0.1:9", "ROTA_API_KEY": "rota_x_y"}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("every weekday at 9am", {"text": "every weekday at 9am"}),
        ("every 5m", {"text": "every 5m"}),
        ("tomorrow at noon", {"text": "tomorrow at noon"}),
        ("5m", {"interval": "5m"}),
        ("PT5M", {"interval": "PT5M"}),
        ("1h30m", {"interval": "1h30m"}),
        ("0 9 * * MON-FRI", {"cron_expr": "0 9 * * MON-FRI"}),
        ("*/5 * * * * *", {"cron_expr": "*/5 * * * * *"}),
        ("@daily", {"cron_expr": "@daily"}),
        ("15 10 1 1 mon", {"cron_expr": "15 10 1 1 mon"}),
        ("2090-01-01T00:00:00Z", {"run_at": "2090-01-01T00:00:00Z"}),
        ("FREQ=DAILY;BYHOUR=9", {"rrule": "FREQ=DAILY;BYHOUR=9"}),
        ("RRULE:FREQ=DAILY", {"rrule": "RRULE:FREQ=DAILY"}),
    ],
)
def test_when_becomes_the_field_it_is(when: str, expected: dict[str, Any]) -> None:
    assert fields.trigger(when) == expected


def test_an_instant_is_sent_as_it_was_written() -> None:
    """The server reads it on the wall clock of the zone, and warns if that skips or repeats it."""
    assert fields.trigger(" 2090-07-01 09:00 ") == {"run_at": "2090-07-01 09:00"}


def test_any_field_can_be_set_as_json_or_as_text() -> None:
    found = fields.others(["misfire_cap=3", "backoff=linear", 'headers={"a": "b"}', "key=a=b"])
    assert found == {
        "misfire_cap": 3,
        "backoff": "linear",
        "headers": {"a": "b"},
        "key": "a=b",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "x", "every day"),
        ("add", "x", "every day", "https://x.example", "--task", "y"),
        ("add", "x", "every day", "https://x.example", "--payload", "{"),
        ("add", "x", "every day", "https://x.example", "--header", "nonsense"),
        ("add", "x", "every day", "https://x.example", "--set", "nonsense"),
        ("add", "x"),
        ("runs", "x", "-n", "0"),
    ],
)
def test_wrong_usage_exits_with_2_and_asks_no_server(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    shown = run(tmp_path, *arguments, **BESIDE)
    assert shown.code == 2, shown.err
    assert "Traceback" not in shown.err


def test_a_bad_zone_is_refused_before_any_server_is_asked(tmp_path: Path) -> None:
    shown = run(tmp_path, "add", "x", "2090-01-01 09:00", "https://x", "--tz", "EST", **BESIDE)
    assert shown.code == 1
    assert "Use IANA format" in shown.err


def test_the_key_in_the_data_folder_goes_to_no_other_server(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "share" / "rota"
    folder.mkdir(parents=True)
    (folder / "url").write_text("http://127.0.0.1:9")
    (folder / "key").write_text("rota_x_y")
    shown = run(tmp_path, "list", "--url", "http://127.0.0.1:10")
    assert shown.code == 1
    assert "ROTA_API_KEY" in shown.err
    assert "rota_x_y" not in shown.err
    # To the one that wrote it, it would go: there is nobody there.
    assert "expected a server" in run(tmp_path, "list").err
