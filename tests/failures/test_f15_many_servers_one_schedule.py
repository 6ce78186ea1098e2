"""F15: every replica of a program declares the same schedule, and all of them run it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.cluster.nodes import cluster, database_now, settled
from tests.failures.scenes import ADMIN_KEY, EVERYTHING, SECOND, all_ended_past, twice

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database

pytestmark = pytest.mark.timeout(60)

SLOTS = 4


async def test_f15_many_servers_one_schedule(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F15, DS8, TR15: declared N times at the same moment, run by N whole servers, fired once."""
    async with cluster(tmp_path, dsn, ROTA_ADMIN_KEY=ADMIN_KEY) as nodes:
        servers = await nodes.start(EVERYTHING, EVERYTHING, EVERYTHING)
        await settled(db, *servers)
        first = (await database_now(db)).replace(microsecond=0) + 3 * SECOND
        last = first + (SLOTS - 1) * SECOND
        body = {
            "cron_expr": "* * * * * *",
            "start_at": first.isoformat(),
            "end_at": last.isoformat(),
            "target_url": f"{target.url}/0",
        }
        made = await asyncio.gather(*(_declare(each.url, body) for each in servers))
        assert len({each["id"] for each in made}) == 1
        await all_ended_past(db, last)
        async with db.transaction(read_only=True) as tx:
            rows = await tx.fetch("SELECT scheduled_for, status FROM firings ORDER BY 1")
    slots = [first + number * timedelta(seconds=1) for number in range(SLOTS)]
    assert [(row["scheduled_for"], row["status"]) for row in rows] == [
        (slot, "succeeded") for slot in slots
    ]
    assert [each.scheduled_for for each in target.receipts] == slots
    assert twice(target) == []


async def _declare(url: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(timeout=30) as http:
        answer = await http.put(f"{url}/v1/schedules/by-key/nightly", json=body, headers=headers)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()
