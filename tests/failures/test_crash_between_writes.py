"""F10: the server is killed between the write of a schedule and the write of its timer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.cluster.nodes import cluster
from tests.failures.holding import hold, session_ended
from tests.failures.scenes import ADMIN_KEY, post, twice

from rota import ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


async def test_crash_between_writes(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F10, QW14: both or none. Never a schedule that nobody will fire, never a timer of nothing.

    The test holds the table of timers: the server is killed when it has written the schedule and
    waits to write the timer. Who asked may ask again.
    """
    body = {"key": "report", "interval": "1s", "target_url": f"{target.url}/0"}
    async with cluster(tmp_path, dsn, ROTA_ADMIN_KEY=ADMIN_KEY) as nodes:
        (api,) = await nodes.start("api")
        url = f"{api.url}/v1/schedules"
        async with hold(db, "LOCK TABLE timers IN SHARE MODE") as held:
            asking = asyncio.create_task(post(url, body))
            session = await held.runs_into("make_schedules")
            api.kill()
        await session_ended(db, session)
        with pytest.raises(httpx.HTTPError):
            await asking
        assert await _stored(db) == (0, 0)

        (api,) = await nodes.start("api")
        url = f"{api.url}/v1/schedules"
        made = await post(url, body)
        assert made.status_code == 201, made.text
        assert await _stored(db) == (1, 1)
        again = await post(url, body)
        assert again.status_code == 409, "the retry of a retry finds what it made"
        await nodes.start("scheduler", "worker")
        await target.received(ids.from_text(ids.Kind.SCHEDULE, made.json()["id"]))
    assert twice(target) == []


async def _stored(db: Database) -> tuple[int, int]:
    """How many schedules there are, and how many timers."""
    async with db.transaction(read_only=True) as tx:
        row = await tx.fetch_row(
            """SELECT (SELECT count(*) FROM schedules) AS schedules,
                      (SELECT count(*) FROM timers) AS timers"""
        )
    assert row is not None
    return row["schedules"], row["timers"]
