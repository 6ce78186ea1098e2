"""Hours as a heat map."""

from __future__ import annotations

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
