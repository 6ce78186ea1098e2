"""`rota logs -f`: what is news, and how a line reads."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.cli.following import OVERLAP, Following
from rota.cli.logs import _Log, line, moment
from rota.cli.shown import took

if TYPE_CHECKING:
    from rota.cli.client import Client

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def firing(id_: str, status: str = "succeeded", *, end: float | None = 0.0, **more: Any) -> Any:
    finished = None if end is None else (NOON + timedelta(seconds=end)).isoformat()
    return {
        "id": id_,
        "schedule_id": "sch_1",
        "scheduled_for": "2026-06-01T11:59:58Z",
        "status": status,
        "attempt": 1,
        "started_at": None,
        "finished_at": finished,
        **more,
    }


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in records]


def test_what_was_shown_is_not_shown_again() -> None:
    log = Following()
    assert ids(log.news([firing("b", end=2), firing("a", end=1)])) == ["a", "b"]
    assert log.news([firing("b", end=2), firing("a", end=1)]) == []


def test_a_firing_is_shown_whenever_it_changes_and_once_when_it_ends() -> None:
    log = Following()
    assert ids(log.news([firing("a", "running", end=None)])) == ["a"]
    assert log.news([firing("a", "running", end=None)]) == []
    assert ids(log.news([firing("a", "retrying", end=None)])) == ["a"]
    assert ids(log.news([firing("a", "running", end=None, attempt=2)])) == ["a"]
    assert ids(log.news([firing("a", end=5, attempt=2)])) == ["a"]
    assert log.news([firing("a", "running", end=None, attempt=2)]) == [], "read late"


def test_a_firing_that_ends_while_the_log_is_read_is_shown_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Moving:
        """Between two questions the firing goes from running over retrying to its end."""

        def get(self, path: str, *, status: str = "", **_: object) -> dict[str, Any]:
            ended = status == "ended"
            found = firing("a", "succeeded" if ended else status, end=5.0 if ended else None)
            return {"items": [found], "next_cursor": None} if "firings" in path else {"name": "x"}

    _Log(cast("Client", Moving()), None, utc=True, as_json=True).past(10)
    [shown] = json.loads(capsys.readouterr().out)
    assert shown["status"] == "succeeded"


def test_live_ones_come_last() -> None:
    found = Following().news([firing("live", "running", end=None), firing("old", end=9)])
    assert ids(found) == ["old", "live"]


def test_it_asks_again_from_a_little_before_the_newest_end() -> None:
    log = Following()
    assert log.since is None
    log.news([firing("a", end=60)])
    assert log.since == NOON + timedelta(seconds=60) - OVERLAP
    log.news([firing("late", end=55)])
    assert log.since == NOON + timedelta(seconds=60) - OVERLAP, "it never goes back"


def test_what_was_live_and_is_not_any_more_is_asked_for() -> None:
    log = Following()
    running = firing("a", "running", end=None)
    log.news([running, firing("b")])
    assert log.vanished([running]) == []
    assert log.vanished([]) == ["a"]
    log.drop("a")
    assert log.vanished([]) == []


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=20))
def test_every_end_is_shown_once_if_it_is_recorded_within_the_overlap(
    polls: list[list[int]],
) -> None:
    """Each poll sees what was recorded since the last: ends of up to that many seconds ago."""
    log, shown, recorded = Following(), list[str](), list[Any]()
    for second, delays in enumerate(polls):
        for n, delay in enumerate(delays):
            # Within the overlap of the newest end there can be.
            end = second - delay % (OVERLAP.seconds)
            recorded.append(firing(f"{second}.{n}", end=end))
        since = log.since
        listed = [
            each
            for each in recorded
            if since is None or datetime.fromisoformat(each["finished_at"]) >= since
        ]
        shown += ids(log.news(listed))
    assert sorted(shown) == sorted(ids(recorded))


def test_a_line_says_when_in_whose_time_and_what() -> None:
    record = firing(
        "fir_1", end=0.1239, result_code=200, duration_ms=35.0, attempt=2, triggered_by="manual"
    )
    assert line(record, "report", utc=True).plain == (
        "2026-06-01 12:00:00.123 UTC  succeeded  report  200, 35 ms, attempt 2, manual, "
        "slot 2026-06-01 11:59:58.000 UTC, fir_1"
    )


def test_the_readers_own_time_has_its_offset() -> None:
    assert moment(NOON, utc=False)[-6] in "+-"
    assert moment(NOON, utc=True).endswith(" UTC")


def test_no_name_or_reason_can_make_a_second_line() -> None:
    record = firing("fir_1", "dead", reason="a\nb\x1b[31m\r\u2028c")
    text = line(record, "x\ny", utc=True).plain
    assert "\n" not in text
    assert not any(ord(each) < 32 for each in text)
    assert "x y" in text


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, ""),
        (0, "0 ms"),
        (35, "35 ms"),
        (1250, "1.25 s"),
        (2_000_000, "33m20s"),
        (90_000_000.0, "1d1h"),
    ],
)
def test_how_long_something_took_is_for_people(milliseconds: float | None, words: str) -> None:
    assert took(milliseconds) == words
