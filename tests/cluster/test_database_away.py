"""The database goes away for 20 s and comes back, under a whole cluster (F2, F7, F9)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from tests.cluster.ledger import Account, account, entries, every
from tests.cluster.nodes import CLOCK, cluster, database_now, eventually, settled, until
from tests.db.schedules import Office
from tests.db.test_restart import crash

from rota.db import Database, embedded, migrate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.cluster.sink import Sink

    from rota.schedules.schedule import Schedule


SECOND = timedelta(seconds=1)
OUTAGE = 20 * SECOND
SHORT = {"ROTA_LEASE_TTL": "5s", "ROTA_LEASE_RENEW_INTERVAL": "1s"}

# A grace that the outage exceeds, so that it is one and the policies decide.
POLICIES: dict[str, dict[str, Any]] = {
    "late": {"misfire_policy": "fire_late", "misfire_cap": 40, "misfire_grace": "2s"},
    "capped": {"misfire_policy": "fire_late", "misfire_cap": 3, "misfire_grace": "2s"},
    "recent": {"misfire_policy": "fire_most_recent", "misfire_grace": "2s"},
    "skip": {"misfire_policy": "skip", "misfire_grace": "2s"},
    # Within its grace nothing is an outage: all are fired, none of them as a catch-up.
    "patient": {"misfire_cap": 40, "misfire_grace": "60s"},
}
EACH = 8


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[embedded.Embedded]:
    """A server of the test's own, to be crashed."""
    settings = {"fsync": "off", "max_connections": "200"}
    async with await embedded.start(tmp_path / "data", extra_settings=settings) as server:
        yield server
    await embedded.remove(tmp_path / "data")


async def test_nothing_is_lost_or_doubled_while_the_database_is_away(
    tmp_path: Path, server: embedded.Embedded, sink: Sink
) -> None:
    async with await Database.open(server.dsn, application_name="rota tests") as db:
        await migrate.apply(db)
        office = await Office.open(db, min_interval=SECOND)
        async with cluster(tmp_path, server.dsn, **SHORT) as nodes:
            roles = await nodes.start("api", "scheduler", "scheduler", "worker", "worker")
            await settled(db, *nodes.of("scheduler"))
            api = roles[0].url
            assert await _ready(api) == 200
            schedules = await _populate(office, sink)
            await until(db, await database_now(db) + 3 * SECOND)
            await crash(server)
            crashed = CLOCK.monotonic()
            await eventually(lambda: _is(api, 503), within=10)
            await CLOCK.sleep(OUTAGE - timedelta(seconds=CLOCK.monotonic() - crashed))
            assert await _ready(api) == 503
            assert await _status(f"{api}/healthz") == 200
            assert all(each.is_running for each in roles)
            await server.ensure_running()
            await eventually(lambda: _is(api, 200), within=30)
            back = await database_now(db)
            await _all_ended_past(db, back + 4 * SECOND)
            assert all(each.is_running for each in roles)
            accounts = await _accounts(db, schedules, until=back + 4 * SECOND)
            logs = [each.log for each in roles]
        assert all("database_away" in log and "database_back" in log for log in logs)
    for name, results in accounts.items():
        for each in results:
            assert each.is_sound, (name, each)
    _assert_policies(accounts, schedules, sink)
    twice = [some for some in sink.by_firing().values() if len(some) > 1]
    assert twice == []
    assert [each for each in sink.receipts if each.arrived_at < each.scheduled_for] == []


def _assert_policies(
    accounts: dict[str, list[Account]], schedules: dict[str, list[Schedule]], sink: Sink
) -> None:
    """I11: exactly what each policy promises."""
    caught_up = Counter(each.schedule_id for each in sink.receipts if each.catch_up)
    counts = {name: {caught_up[s.id] for s in some} for name, some in schedules.items()}
    assert counts["capped"] == {3}
    assert counts["recent"] == {1}
    assert counts["skip"] == {0}
    assert counts["patient"] == {0}
    assert min(counts["late"]) >= OUTAGE // SECOND - 3
    missed = {name: {_missed(each) for each in results} for name, results in accounts.items()}
    assert missed["late"] == missed["patient"] == {0}
    assert min(missed["capped"] | missed["recent"] | missed["skip"]) >= OUTAGE // SECOND - 6


def _missed(result: Account) -> int:
    return sum(count for what, count in result.explained.items() if what.startswith("missed"))


async def _populate(office: Office, sink: Sink) -> dict[str, list[Schedule]]:
    """Every second, for each policy; some answer slowly, so that the crash meets calls."""
    return {
        policy: [
            await office.create(
                name=f"{policy}-{number}",
                interval="1s",
                job_type=None,
                target_url=f"{sink.url}/{0 if number % 2 else 700}",
                overlap_policy="allow",
                **rules,
            )
            for number in range(EACH)
        ]
        for policy, rules in POLICIES.items()
    }


async def _accounts(
    db: Database, schedules: dict[str, list[Schedule]], *, until: datetime
) -> dict[str, list[Account]]:
    found = await entries(db)
    return {
        policy: [
            account(
                every(SECOND, each.anchor_at)(each.created_at, until),
                [entry for entry in found[each.id] if entry.scheduled_for <= until],
            )
            for each in some
        ]
        for policy, some in schedules.items()
    }


async def _all_ended_past(db: Database, instant: datetime) -> None:
    """Return when every slot up to the instant has ended, one way or another."""
    await until(db, instant)

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                """SELECT (SELECT count(*) FROM timers WHERE due_at <= $1)
                        + (SELECT count(*) FROM queue WHERE scheduled_for <= $1)""",
                instant,
            )

    await eventually(look, within=60)


async def _ready(api: str) -> int:
    return await _status(f"{api}/readyz")


async def _is(api: str, status: int) -> bool:
    return await _ready(api) == status


async def _status(url: str) -> int:
    timeout = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
        return answer.status
