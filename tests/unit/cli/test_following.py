"""`rota logs -f`: what is news, and how a line reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rota.cli.following import OVERLAP, Following
from rota.cli.logs import line, moment

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
