"""What the tests of a cluster share."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.cluster.explained import assert_all_explained
from tests.cluster.sink import Sink
from tests.cluster.sink import sink as make_sink
from tests.db.schedules import Office

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database


@pytest.fixture
async def sink() -> AsyncGenerator[Sink]:
    async with make_sink(Sink("")) as made:
        yield made


@pytest.fixture
async def office(db: Database) -> Office:
    """The default tenant, who may fire every second."""
    return await Office.open(db, min_interval=timedelta(seconds=1))


@pytest.fixture(autouse=True)
async def _every_slot_is_explained(db: Database) -> AsyncGenerator[None]:
    """Whatever was done to the cluster: no slot without a firing, a record or a pending timer."""
    yield
    await assert_all_explained(db)
