"""F3: a target answers 5xx, every time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster
from tests.db.secrets_kit import ring_text
from tests.db.watch_kit import receiving
from tests.deadlines import Strain, patience
from tests.failures.scenes import ADMIN_KEY, attempts, calls, ended, get, post, queued

from rota import ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


DELAYS = [timedelta(seconds=seconds) for seconds in (0.4, 0.8, 1.0, 1.0)]
"""Doubling from the delay up to the longest."""
SLACK = timedelta(seconds=2)
"""A worker's poll."""


async def test_target_5xx(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """Backoff, capped, then dead, in the dead-letter list, and its owner notified."""
    target.status = 503
    settings = {"ROTA_ADMIN_KEY": ADMIN_KEY, "ROTA_SECRET_KEYS": ring_text("k1")}
    async with receiving() as owner, cluster(tmp_path, dsn, **settings) as nodes:
        api, _ = await nodes.start("api", "worker")
        made = await post(f"{api.url}/v1/channels", {"name": "owner", "url": owner.url})
        assert made.status_code == 201, made.text
        schedule = await calls(
            office,
            target,
            "broken",
            max_attempts=5,
            backoff="exponential",
            backoff_delay=0.4,
            backoff_max=1,
        )
        strain = Strain()
        run = await office.trigger(schedule)
        # A worker claims a retry ahead of its instant, so it is in that state for a moment only.
        waiting = await queued(db, schedule, ahead=True)
        (firing,) = await ended(db, schedule)
        slack = SLACK + timedelta(seconds=strain.seconds)
        tries = await attempts(db, run.id)
        (letter,) = (await get(f"{api.url}/v1/dead"))["items"]
        await asyncio.wait_for(owner.arrived.wait(), patience(20))
        (alert,) = (await get(f"{api.url}/v1/alerts?kind=dead"))["items"]
    assert (alert["schedule_name"], alert["count"], alert["closed_at"]) == ("broken", 1, None)
    _, said = owner.calls[0]
    assert (said["type"], said["data"]["alert_id"]) == ("alert.opened", alert["id"])
    assert "HTTP 503, after 5 attempts" in said["text"]
    assert letter["id"] == ids.to_text(ids.Kind.FIRING, run.id)
    assert waiting["available_at"] > tries[0]["finished_at"], "the wait is in the database"
    assert (firing["id"], firing["status"], firing["attempt"]) == (run.id, "dead", 5)
    assert firing["reason"] == "HTTP 503, after 5 attempts"
    assert [(row["attempt"], row["outcome"], row["response_status"]) for row in tries] == [
        (number, "failed", 503) for number in (1, 2, 3, 4, 5)
    ]
    waits = [after["started_at"] - before["finished_at"] for before, after in pairwise(tries)]
    for wait, delay in zip(waits, DELAYS, strict=True):
        assert delay <= wait < delay + slack, waits
    assert [each.attempt for each in target.receipts] == [1, 2, 3, 4, 5]
    assert len({each.key for each in target.receipts}) == 1
