"""What the tests of failures share."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.cluster.explained import assert_all_explained
from tests.cluster.sink import sink
from tests.db.schedules import Office
from tests.failures.target import Target

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    """What schedules call: the witness outside of the database."""
    async with sink(Target("")) as made:
        yield made


@pytest.fixture
async def office(db: Database) -> Office:
    """The default tenant, who may fire every second."""
    return await Office.open(db, min_interval=timedelta(seconds=1))


@pytest.fixture(autouse=True)
async def _every_slot_is_explained(db: Database) -> AsyncGenerator[None]:
    """Whatever was made to fail: no slot without a firing, a record or a pending timer."""
    yield
    await assert_all_explained(db)
