"""Hours as a heat map."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import forecast_grid


@given(st.integers(0, 40_000), st.lists(st.integers(0, 10**7), min_size=168, max_size=168))
def test_every_hour_is_in_the_map_once(start: int, hours: list[int]) -> None:
    rows = forecast_grid.rows(start * 3_600, hours)
    cells = [cell for row in rows for cell in row.cells]
    assert [cell.count for cell in cells if cell is not None] == hours
    assert all(len(row.cells) == 24 for row in rows)
    assert sum(row.total for row in rows) == sum(hours)
    assert len(rows) == (7 if start % 24 == 0 else 8)


@pytest.mark.parametrize(
    ("timezone", "day", "gone", "twice"),
    [
        ("Europe/Madrid", date(2026, 3, 29), [2], []),
        ("Europe/Madrid", date(2026, 10, 25), [], [2]),
        ("Asia/Kolkata", date(2026, 3, 29), [], []),
    ],
)
def test_a_day_is_the_zones_own_also_when_its_clock_changes(
    timezone: str, day: date, gone: list[int], twice: list[int]
) -> None:
    start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) - 2 * 86_400
    rows = forecast_grid.rows(start, [1] * 168, timezone)
    assert sum(row.total for row in rows) == 168
    (row,) = [each for each in rows if each.day == day]
    assert [hour for hour, cell in enumerate(row.cells) if cell is None] == gone
    assert [hour for hour, cell in enumerate(row.cells) if cell and cell.count == 2] == twice
    assert row.total == 24 - len(gone) + len(twice)


def test_a_title_says_the_hour_on_whose_clock() -> None:
    start = int(datetime(2026, 7, 1, 18, tzinfo=UTC).timestamp())
    titles = {
        timezone: next(cell.title for row in rows for cell in row.cells if cell is not None)
        for timezone in ("UTC", "America/New_York", "Asia/Kolkata")
        if (rows := forecast_grid.rows(start, [1, 2], timezone))
    }
    assert titles == {
        "UTC": "Wed 1 Jul, 18:00 to 19:00 UTC: 1 firing",
        "America/New_York": "Wed 1 Jul, 14:00 to 15:00 New York: 1 firing",
        "Asia/Kolkata": "Wed 1 Jul, 23:30 to 00:30 Kolkata: 1 firing",
    }


@pytest.mark.parametrize(
    ("count", "level"), [(0, 0), (1, 1), (20, 1), (21, 2), (61, 4), (80, 4), (81, 5), (100, 5)]
)
def test_the_tone_is_the_share_of_the_busiest_hour(count: int, level: int) -> None:
    assert forecast_grid.level(count, 100) == level


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (9_960, "10k"), (34_400, "34k"), (1_250_000, "1.2M")],
)
def test_long_numbers_are_told_shortly(number: int, text: str) -> None:
    assert forecast_grid.short(number) == text
