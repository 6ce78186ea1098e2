"""Every replica of a program declares the same schedule, and all of them run it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import httpx
from tests.cluster.nodes import cluster, database_now, eventually, holds, node_of, settled
from tests.failures.scenes import ADMIN_KEY, EVERYTHING, SECOND, SHORT, all_ended_past

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.nodes import Process
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


PATIENCE = 120.0


async def test_many_servers_that_freeze_and_die_fire_one_schedule_once(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """Declared N times at the same moment and run by N whole servers. The one that leads it is
    frozen for longer than its lease and thawed, the next one is killed: each slot fires once."""
    async with cluster(tmp_path, dsn, ROTA_ADMIN_KEY=ADMIN_KEY, **SHORT) as nodes:
        servers = await nodes.start(EVERYTHING, EVERYTHING, EVERYTHING)
        await settled(db, *servers)
        body = {
            "cron_expr": "* * * * * *",
            "target_url": f"{target.url}/0",
            "overlap_policy": "allow",
            "misfire_cap": 1_000,
        }
        made = await asyncio.gather(*(_declare(each.url, body) for each in servers))
        assert len({each["id"] for each in made}) == 1
        await holds(lambda: len(target.receipts) >= 2)
        frozen = await _leader(db, servers)
        frozen.freeze()
        killed = await _leader(db, servers, but=frozen)
        frozen.thaw()
        seen = len(target.receipts)
        await holds(lambda: len(target.receipts) > seen, within=PATIENCE)
        killed.kill()
        survivor = await _leader(db, servers, but=killed)
        last = (await database_now(db)).replace(microsecond=0) + 3 * SECOND
        await all_ended_past(db, last, within=PATIENCE)
        assert survivor.is_running
        async with db.transaction(read_only=True) as tx:
            rows = await tx.fetch(
                """SELECT id, scheduled_for, status FROM firings
                    WHERE scheduled_for <= $1 ORDER BY scheduled_for""",
                last,
            )
    created_at = datetime.fromisoformat(made[0]["created_at"])
    first = created_at.replace(microsecond=0) + SECOND
    slots = [first + number * SECOND for number in range((last - first) // SECOND + 1)]
    assert [(row["scheduled_for"], row["status"]) for row in rows] == [
        (slot, "succeeded") for slot in slots
    ]
    # One firing for each slot, whoever called for it; a call more is a further attempt of one whose
    # worker was frozen or killed, and has its id.
    received = [each for each in target.receipts if each.scheduled_for <= last]
    calls = {(each.scheduled_for, each.firing_id) for each in received}
    assert calls == {(row["scheduled_for"], row["id"]) for row in rows}
    for some in target.by_firing().values():
        tried = [each.attempt for each in some]
        assert tried == sorted(set(tried)), "no attempt twice, none after a later one"
    assert len(received) < 2 * len(slots), "only what was under way was repeated"


async def _leader(db: Database, servers: list[Process], *, but: Process | None = None) -> Process:
    """Who leads the schedule's shard, once it is not that one."""
    nodes = {await node_of(db, each): each for each in servers if each.is_running}

    async def look() -> Process | None:
        async with db.transaction(read_only=True) as tx:
            holder = await tx.fetch_value(
                """SELECT holder FROM leases JOIN schedules USING (shard)
                    WHERE leased_until > clock_timestamp()"""
            )
        found = nodes.get(holder)
        return None if found is but else found

    return await eventually(look, within=PATIENCE)


async def _declare(url: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(timeout=30) as http:
        answer = await http.put(f"{url}/v1/schedules/by-key/nightly", json=body, headers=headers)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()
