"""A schedule's latest firings as bars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from rota.dashboard.bars import HEIGHT, LATEST, WIDTH, bars
from rota.history.firing import Firing

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)


def fired(ago: int, took_ms: int | None, status: str = "succeeded", slots: int = 1) -> Firing:
    at = NOW - timedelta(minutes=ago)
    ended = None if took_ms is None else at + timedelta(milliseconds=took_ms)
    return Firing(
        id=uuid4(),
        schedule_id=uuid4(),
        tenant_id=uuid4(),
        version=1,
        scheduled_for=at,
        last_slot_at=None,
        slot_count=slots,
        status=status,
        reason=None,
        attempt=1,
        triggered_by="schedule",
        catch_up=False,
        available_at=None,
        started_at=None if took_ms is None else at,
        finished_at=ended,
        result_code=None,
        result_excerpt=None,
    )


def test_the_newest_is_at_the_right_and_the_longest_is_the_highest() -> None:
    newest = [fired(0, 10), fired(1, 80, "dead"), fired(2, None, "skipped", 7)]
    made, top = bars(newest, zone="UTC", now=NOW)
    assert top == 100
    assert [bar.tone for bar in made] == ["mute", "bad", "good"]
    assert made[0].x < made[1].x < made[2].x < WIDTH
    assert made[1].height > made[2].height > made[0].height > 0
    assert all(bar.y + bar.height == HEIGHT for bar in made)
    assert made[1].title == "dead after 80 ms: 04:59 UTC"
    assert made[0].title.endswith("7 slots")


def test_no_more_than_fit_are_shown() -> None:
    made, _ = bars([fired(at, 5) for at in range(LATEST + 5)], zone="UTC", now=NOW)
    assert len(made) == LATEST
    assert made[0].x >= 0


def test_nothing_is_no_trouble() -> None:
    assert bars([], zone="UTC", now=NOW) == ([], None)
    assert bars([fired(0, 0)], zone="UTC", now=NOW)[1] is None
