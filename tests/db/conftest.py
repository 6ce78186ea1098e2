"""Checks that hold in every test with a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.db.lock_order import watched

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(autouse=True)
def _rows_are_locked_in_order() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """Whatever a test does, no transaction of it locks rows out of order."""
    with watched() as order:
        yield
    assert not order.violations, "\n".join(order.violations)
