"""A tzdata update, with two trees of the package and real servers: a local day fires once.

The zone of the tests has other rules in each tree: by the newer ones every local time comes ten
minutes later.
"""

from __future__ import annotations

import re
import shutil
import struct
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tzdata
from tests.cluster.nodes import Cluster, cluster, eventually, settled
from tests.failures.scenes import ADMIN_KEY, EVERYTHING, SHORT, alerted, post
from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from tests.failures.target import Target

    from rota.db import Database, Row


MADRID = "Europe/Madrid"
TEN_MINUTES = timedelta(minutes=10)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def rules(offset: str) -> bytes:
    """A file of the database: always so far east of UTC (RFC 9636)."""
    hours, minutes = map(int, offset.split(":"))
    kind = struct.pack(">lbb", hours * 3600 + minutes * 60, 0, 0) + b"XXX\0"
    header = struct.pack(">4sc15x6L", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    return header + kind + header + kind + f"\nXXX-{offset}\n".encode()


def tree(home: Path, version: str, offset: str) -> Path:
    """The package, with this version and these rules for one zone."""
    folder = home / f"tzdata-{version}"
    shutil.copytree(Path(tzdata.__file__).parent, folder / "tzdata")
    (folder / "tzdata" / "zoneinfo" / "Europe" / "Madrid").write_bytes(rules(offset))
    init = folder / "tzdata" / "__init__.py"
    init.write_text(re.sub(r'IANA_VERSION = ".*"', f'IANA_VERSION = "{version}"', init.read_text()))
    return folder


def nodes(home: Path, dsn: str, package: Path) -> Any:
    """Servers that have the package of this tree."""
    home.mkdir()
    return cluster(home, dsn, PYTHONPATH=str(package), ROTA_ADMIN_KEY=ADMIN_KEY, **SHORT)


async def follow(db: Database, version: str) -> None:
    """Return when the timers of all shards follow the rules of this version."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return (
                await tx.fetch_value(
                    """SELECT count(*) FROM shard_tzdata JOIN tzdata_versions USING (digest)
                    WHERE version = $1""",
                    version,
                )
                == 64
            )

    await eventually(look, within=120)


async def create(servers: Cluster, url: str, expression: str) -> str:
    answer = await post(
        f"{servers.processes[0].url}/v1/schedules",
        {"name": "daily", "cron_expr": expression, "timezone": MADRID, "target_url": url},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["next_fire_at"]


async def timer(db: Database) -> Row:
    async with db.transaction(read_only=True) as tx:
        row = await tx.fetch_row("SELECT *, clock_timestamp() AS now FROM timers")
    assert row is not None
    return row


async def ended(db: Database) -> list[Row]:
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch("SELECT * FROM firings ORDER BY scheduled_for")


def at(instant: datetime) -> str:
    """The expression for this instant's time of day in the zone, by the older rules (+02:00)."""
    local = instant + timedelta(hours=2)
    return f"{local.second} {local.minute} {local.hour} * * *"


async def test_a_slot_moves_once_with_the_newer_rules_and_not_back(
    tmp_path: Path, dsn: str, db: Database, target: Target
) -> None:
    old, new = tree(tmp_path, "2050a", "2:00"), tree(tmp_path, "2050b", "1:50")
    async with nodes(tmp_path / "first", dsn, old) as servers:
        await servers.start(EVERYTHING)
        await follow(db, "2050a")
        now = (await _now(db)).replace(microsecond=0)
        slot = now + timedelta(hours=3)
        said = await create(servers, f"{target.url}/0", at(slot))
        assert datetime.fromisoformat(said) == slot
    async with nodes(tmp_path / "second", dsn, new) as servers:
        [server] = await servers.start(EVERYTHING)
        await follow(db, "2050b")
        assert (await timer(db))["scheduled_for"] == slot + TEN_MINUTES
        await alerted(db, "moved")
        doctor = run(tmp_path, "doctor", "--json", "--dsn", dsn, PYTHONPATH=str(new))
        [check] = [each for each in doctor.json["checks"] if each["name"] == "zone rules"]
        assert "timers follow tzdata 2050b; moved 1: daily" in check["found"]
        # A node of the old deploy comes back: it warns, and moves nothing.
        servers.variables = {**servers.variables, "PYTHONPATH": str(old)}
        [back] = await servers.start("scheduler")
        server.kill()
        await settled(db, back, within=60)
        await alerted(db, "outdated")
        assert (await timer(db))["scheduled_for"] == slot + TEN_MINUTES


async def test_a_local_day_that_has_fired_does_not_fire_again_later_that_day(
    tmp_path: Path, dsn: str, db: Database, target: Target
) -> None:
    """The fault: it fired at the instant of the old rules, and ten minutes on by the new ones."""
    old, new = tree(tmp_path, "2050a", "2:00"), tree(tmp_path, "2050b", "1:50")
    async with nodes(tmp_path / "first", dsn, old) as servers:
        await servers.start(EVERYTHING)
        slot = (await _now(db)).replace(microsecond=0) + 10 * SECOND
        said = await create(servers, f"{target.url}/0", at(slot))
        assert datetime.fromisoformat(said) == slot

        async def fired() -> bool:
            return bool(await ended(db))

        await eventually(fired, within=120)
        assert (await timer(db))["scheduled_for"] == slot + DAY
    async with nodes(tmp_path / "second", dsn, new) as servers:
        await servers.start(EVERYTHING)
        await follow(db, "2050b")
        found = await timer(db)
        assert found["scheduled_for"] == slot + DAY + TEN_MINUTES
        [firing] = await ended(db)
        assert (firing["scheduled_for"], firing["status"]) == (slot, "succeeded")


async def _now(db: Database) -> datetime:
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch_value("SELECT clock_timestamp()")
