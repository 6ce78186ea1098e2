"""One tenant submits very many schedules, all due at once, next to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import cluster, database_now, holds, settled, until
from tests.db.schedules import Office
from tests.deadlines import Strain
from tests.failures.scenes import (
    SECOND,
    all_ended_past,
    calls,
    lateness,
    many,
    post,
    set_slots,
    twice,
)

from rota import ids
from rota.tenants import service
from rota.tenants import sql as tenants

if TYPE_CHECKING:
    from pathlib import Path
    from typing import LiteralString

    from tests.failures.target import Target

    from rota.db import Database


OTHERS = 10
SLOTS = 3
BOUND = 3 * SECOND
"""A worker that is full with the many frees half of its hands within a second."""


@pytest.mark.parametrize(
    "count",
    [10_000, pytest.param(1_000_000, marks=[pytest.mark.large, pytest.mark.timeout(7_200)])],
)
async def test_very_many_firings_of_one_tenant_do_not_make_the_others_late(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target, *, count: int
) -> None:
    """They are slow. In the order of their instants the others would wait for all of them: twenty
    seconds with ten thousand, half an hour with a million.
    """
    crowd = await _tenant(db, "crowd")
    slow = {"target_url": f"{target.url}/1000", "capture": "none"}
    await many(crowd, target, count, interval="1h", **slow)
    async with cluster(tmp_path, dsn) as nodes:
        scheduler, _ = await nodes.start("scheduler", "worker")
        await settled(db, scheduler)
        ready_in = 5 + count // 5_000
        slot = (await database_now(db)).replace(microsecond=0) + ready_in * SECOND
        await set_slots(crowd, slot)
        others = [
            await calls(
                office,
                target,
                f"s{number}",
                interval="1s",
                start_at=(slot + SECOND).isoformat(),
                max_firings=SLOTS,
            )
            for number in range(OTHERS)
        ]
        strain = Strain()
        await until(db, slot + SECOND)
        wanted = {each.id for each in others}
        await holds(
            lambda: (
                sum(1 for each in target.receipts if each.schedule_id in wanted) >= OTHERS * SLOTS
            ),
            within=60,
        )
        strained = strain.seconds * SECOND
        async with db.transaction(read_only=True) as tx:
            left = await tx.fetch_value(
                "SELECT count(*) FROM queue WHERE tenant_id = $1", crowd.tenant.id
            )
    assert left > count / 10, "the crowd was gone before the others came: it proves nothing"
    worst = max(max(lateness(target, each)) for each in others)
    assert worst < BOUND + strained, worst


async def test_a_tenants_concurrency_is_capped_over_all_workers(
    tmp_path: Path, dsn: str, db: Database, target: Target
) -> None:
    """A hundred firings at once, never more than ten of them under way."""
    crowd = await _tenant(db, "crowd", "UPDATE tenants SET max_concurrency = 10 WHERE id = $1")
    await many(crowd, target, 100, interval="1h", target_url=f"{target.url}/100")
    async with cluster(tmp_path, dsn) as nodes:
        scheduler, _, _ = await nodes.start("scheduler", "worker", "worker")
        await settled(db, scheduler)
        slot = (await database_now(db)).replace(microsecond=0) + 4 * SECOND
        await set_slots(crowd, slot)
        await all_ended_past(db, slot)
    assert len(target.receipts) == 100
    assert twice(target) == []
    assert 2 <= target.busiest <= 10


async def test_a_tenant_creates_no_faster_and_no_more_than_it_may(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """A flood is taken once, then told when to come back; others create as before."""
    limits: LiteralString = (
        "UPDATE tenants SET create_rate = 10, max_schedules = 1000 WHERE id = $1"
    )
    crowd = await _tenant(db, "crowd", limits)
    async with db.transaction() as tx:
        key = await service.create_key(tx, crowd.tenant, scopes=("write",))
        other = await service.create_key(tx, office.tenant, scopes=("write",))
    item = {"interval": "1h", "target_url": f"{target.url}/0"}
    flood = [{"name": f"s{number}", **item} for number in range(1001)]
    async with cluster(tmp_path, dsn) as nodes:
        (api,) = await nodes.start("api")
        url = f"{api.url}/v1/schedules"
        assert (await post(f"{url}/bulk", flood, key.text)).status_code == 403
        assert (await post(f"{url}/bulk", flood[:500], key.text)).status_code == 201
        refused = await post(url, {"name": "more", **item}, key.text)
        assert (await post(url, {"name": "more", **item}, other.text)).status_code == 201
    assert refused.status_code == 429
    # What was created is paid for at the rate: about fifty seconds.
    assert 30 < int(refused.headers["Retry-After"]) <= 50


async def _tenant(db: Database, name: str, also: LiteralString | None = None) -> Office:
    async with db.transaction() as tx:
        id_ = ids.new(at=await tenants.now(tx))
        await tenants.make_tenant(tx, id_, name, SECOND)
        if also is not None:
            await tx.execute(also, id_)
        found = await tenants.tenant_named(tx, name)
    assert found is not None
    return Office(db, found)
