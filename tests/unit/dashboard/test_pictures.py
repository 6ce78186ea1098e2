"""Charts, strips and spans: numbers in, places in a picture out."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import charts, curl, strip
from rota.dashboard.spans import spans
from rota.history.activity import Minute
from rota.history.firing import Attempt
from rota.history.strips import LATEST, Outcome

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
COUNTS = st.dictionaries(
    st.sampled_from(["succeeded", "dead", "skipped", "missed", "cancelled"]),
    st.integers(0, 100_000),
)


@pytest.mark.parametrize(
    ("value", "round_number"),
    [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (3, 5), (7, 10), (10, 10), (12_345, 20_000)],
)
def test_a_scale_ends_at_a_round_number(value: float, round_number: float) -> None:
    assert charts.ceiling(value) == pytest.approx(round_number)


@given(st.floats(0.001, 1e12))
def test_nothing_is_higher_than_its_scale(value: float) -> None:
    top = charts.ceiling(value)
    assert value <= top * 1.0000001
    assert top <= value * 10


@given(st.lists(COUNTS, min_size=1, max_size=60))
def test_bars_stand_on_each_other_within_the_picture(counts: list[dict[str, int]]) -> None:
    minutes = [Minute(NOW + timedelta(minutes=at), each) for at, each in enumerate(counts)]
    for column, minute in zip(charts.columns(minutes), minutes, strict=True):
        assert len(column.bars) == sum(count > 0 for count in minute.counts.values())
        floor = float(charts.HEIGHT)
        for bar in column.bars:
            assert bar.y + bar.height == pytest.approx(floor, abs=0.05)
            floor = bar.y
        # Each has at least a hair, so a few may stick out by as much.
        assert floor >= -1.5 * len(column.bars)


def test_one_dead_firing_among_ten_thousand_is_seen() -> None:
    minute = Minute(NOW, {"succeeded": 10_000, "dead": 1})
    (column,) = charts.columns([minute])
    assert [(bar.tone, bar.height >= 1.5) for bar in column.bars] == [
        ("good", True),
        ("bad", True),
    ]
    assert column.title == "12:00 UTC: 10000 succeeded, 1 dead"


def test_what_is_due_stands_in_its_minute() -> None:
    due = [NOW + timedelta(minutes=each) for each in (0, 0.5, 30, 59.9, 61)]
    marks = charts.timeline(due, now=NOW, span=timedelta(hours=1))
    assert {at: mark.count for at, mark in enumerate(marks) if mark.count} == {0: 2, 30: 1, 59: 1}


def test_the_newest_outcome_stands_at_the_right() -> None:
    outcomes = [
        Outcome(id=UUID(int=at), scheduled_for=NOW, status=status, reason=None)
        for at, status in enumerate(["dead", "succeeded"])
    ]
    ticks = strip.ticks(outcomes)
    assert [tick.tone for tick in ticks] == ["bad", "good"]
    assert ticks[-1].x == (LATEST - 1) * strip.STEP


def _attempt(number: int, start: float, end: float) -> Attempt:
    return Attempt(
        firing_id=UUID(int=1),
        attempt=number,
        worker=UUID(int=2),
        started_at=NOW + timedelta(seconds=start),
        finished_at=NOW + timedelta(seconds=end),
        outcome="failed",
        error=None,
        request=None,
        response_status=None,
        response_headers=None,
        response_body=None,
    )


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), min_size=1, max_size=25),
)
def test_every_attempt_is_seen_within_the_line(tries: list[tuple[float, float]]) -> None:
    attempts = [_attempt(at, start, start + took) for at, (start, took) in enumerate(tries)]
    for span in spans(attempts):
        assert span.width >= 0.8
        assert span.x >= 0
        assert span.x + span.width <= 100.05


def test_no_attempts_make_no_picture() -> None:
    assert spans([]) == []


@given(url=st.text(max_size=50), value=st.text(max_size=50), body=st.text(max_size=50))
def test_a_request_as_curl_says_the_same_and_nothing_more(url: str, value: str, body: str) -> None:
    """Whatever a header or a body holds, a shell reads it as one word."""
    shown = curl.command(
        {"method": "POST", "url": url, "headers": {"X-A": value, "Host": "h"}, "body": body}
    )
    words = shlex.split(shown.replace(" \\\n  ", " "))
    expected = ["curl", "-X", "POST", "-H", f"X-A: {value}"]
    expected += ["--data-raw", body] if body else []
    assert words == [*expected, url]
