"""Small things that the tests of failures say: schedules in certain shards, and what came of them.

Settings are short so that the tests are; the protocols are the same at any length.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import httpx
from tests.cluster.ledger import account, entries, every
from tests.cluster.nodes import database_now, eventually, until
from tests.db.schedules import SHARDS
from tests.deadlines import crowding, patience

from rota.schedules import create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from tests.cluster.nodes import Role
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

SECOND: Final = timedelta(seconds=1)
MILLISECOND: Final = timedelta(milliseconds=1)
_AT_ONCE: Final = 10_000
_LONGEST: Final = timedelta(minutes=10)
"""Of one statement, when there are a million rows to change."""
SHORT: Final[Mapping[str, str]] = {"ROTA_LEASE_TTL": "3s", "ROTA_LEASE_RENEW_INTERVAL": "0.5s"}
TTL: Final = 3 * SECOND
ADMIN_KEY: Final = "rota_failures_" + "k" * 40
EVERYTHING: Role = cast("Role", "api,scheduler,worker")
"""A whole server in one process."""


async def calls(
    office: Office, target: Target, name: str, *, wait: int = 0, **fields: Any
) -> Schedule:
    """A schedule that calls the target, which takes so many milliseconds.

    Hourly, unless it says otherwise.
    """
    whole = {"overlap_policy": "allow", **fields}
    if "run_at" in whole or "cron_expr" in whole:
        whole["interval"] = None
    return await office.create(name=name, job_type=None, target_url=f"{target.url}/{wait}", **whole)


async def calls_in(
    office: Office, target: Target, shards: Iterable[int], count: int = 1, **fields: Any
) -> list[Schedule]:
    """So many schedules that call the target, all of them in these shards.

    Which shard a schedule is in is drawn when it is made: more are made, and the others deleted.
    """
    wanted = set(shards)
    made = await many(office, target, 4 * count + 20, **{"overlap_policy": "allow", **fields})
    chosen = [each for each in made if each.shard in wanted][:count]
    assert len(chosen) == count, "none of that luck; once in a million runs"
    rest = [each.id for each in made if each not in chosen]
    async with office.db.transaction() as tx:
        await tx.execute("DELETE FROM schedules WHERE id = ANY ($1::uuid[])", rest)
    return chosen


async def many(office: Office, target: Target, count: int, **fields: Any) -> list[Schedule]:
    """So many schedules that call the target, made in large transactions."""
    shared = {"target_url": f"{target.url}/0", **fields}
    made: list[Schedule] = []
    while len(made) < count:
        numbers = range(len(made), min(count, len(made) + _AT_ONCE))
        items = [{"name": f"s{number}", **shared} for number in numbers]
        saved = await create.create_many(office.db, office.tenant, items, shards=SHARDS)
        made += [each.schedule for each in saved]
    return made


async def set_slots(office: Office, slot: datetime) -> None:
    """Let the next slot of all the tenant's hourly schedules be this one.

    Making thousands takes its time; when they are due is said once they are there.
    """
    async with office.db.transaction() as tx:
        await tx.execute(f"SET LOCAL statement_timeout = {_LONGEST // MILLISECOND}")  # pyright: ignore[reportArgumentType] - a number
        await tx.execute(
            "UPDATE schedules SET anchor_at = $2 WHERE tenant_id = $1",
            office.tenant.id,
            slot,
            reply_timeout=_LONGEST,
        )
        await tx.execute(
            """UPDATE timers t
                  SET scheduled_for = $2::timestamptz,
                      due_at = $2::timestamptz + (t.due_at - t.scheduled_for)
                 FROM schedules s WHERE s.id = t.schedule_id AND s.tenant_id = $1""",
            office.tenant.id,
            slot,
            reply_timeout=_LONGEST,
        )


async def soon(db: Database, *, seconds: float = 4) -> datetime:
    """A whole second that leaves a machine this busy the time to set a scene before it."""
    ahead = math.ceil(seconds * min(crowding(), 8))
    return (await database_now(db)).replace(microsecond=0) + ahead * SECOND


async def shards_led_by(db: Database, node: UUID) -> set[int]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT shard FROM leases WHERE holder = $1", node)
    return {row["shard"] for row in rows}


async def leads(db: Database, node: UUID, shards: Iterable[int]) -> datetime:
    """When the node was seen to lead all of these."""
    wanted = set(shards)

    async def look() -> datetime | None:
        if not wanted <= await shards_led_by(db, node):
            return None
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_value("SELECT clock_timestamp()")

    return await eventually(look)


async def queued(
    db: Database, schedule: Schedule, *, state: str | None = None, ahead: bool = False
) -> Row:
    """The schedule's oldest firing in the queue, once there is one (in that state; `ahead` of the
    instant at which it may start, claimed or not)."""

    async def look() -> Row | None:
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_row(
                """SELECT * FROM queue
                    WHERE schedule_id = $1 AND state = coalesce($2, state)
                      AND (available_at > clock_timestamp() OR NOT $3)
                    ORDER BY scheduled_for LIMIT 1""",
                schedule.id,
                state,
                ahead,
            )

    return await eventually(look)


async def ended(db: Database, schedule: Schedule, count: int = 1) -> list[Row]:
    """The schedule's recorded firings, once there are so many; oldest first."""

    async def look() -> list[Row] | None:
        async with db.transaction(read_only=True) as tx:
            rows = await tx.fetch(
                "SELECT * FROM firings WHERE schedule_id = $1 ORDER BY scheduled_for", schedule.id
            )
        return rows if len(rows) >= count else None

    return await eventually(look)


async def attempts(db: Database, firing_id: UUID) -> list[Row]:
    """The tries of a firing, in their order."""
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch(
            "SELECT * FROM attempts WHERE firing_id = $1 ORDER BY attempt", firing_id
        )


async def all_ended_past(db: Database, instant: datetime, *, within: float = 30.0) -> None:
    """Return when the instant has passed and every slot up to it has ended, one way or another."""
    await until(db, instant)

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                """SELECT (SELECT count(*) FROM timers WHERE due_at <= $1)
                        + (SELECT count(*) FROM queue WHERE scheduled_for <= $1)""",
                instant,
            )

    await eventually(look, within=within)


async def assert_each_second_succeeded(
    db: Database, schedules: Sequence[Schedule], *, until: datetime
) -> None:
    """Every slot of these every-second schedules has one entry, a success, and there is no other.

    I1, I2, I3; the slots are worked out here, by arithmetic.
    """
    found = await entries(db)
    for each in schedules:
        slots = every(SECOND, each.anchor_at)(each.created_at, until)
        mine = [entry for entry in found.get(each.id, []) if entry.scheduled_for <= until]
        result = account(slots, mine)
        assert result.is_sound, result
        assert set(result.explained) == {"succeeded"}, result.explained


def twice(target: Target) -> list[UUID]:
    """Firings that the target was called for more than once."""
    return [id_ for id_, some in target.by_firing().items() if len(some) > 1]


def lateness(target: Target, schedule: Schedule) -> list[timedelta]:
    return [each.arrived_at - each.scheduled_for for each in target.of(schedule.id)]


async def get(url: str) -> Any:
    """What the API answers the admin."""
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(timeout=patience(10)) as http:
        answer = await http.get(url, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def post(url: str, body: object, key: str = ADMIN_KEY) -> httpx.Response:
    """The API's answer to whoever has the key."""
    async with httpx.AsyncClient(timeout=patience(30)) as http:
        return await http.post(url, json=body, headers={"Authorization": f"Bearer {key}"})


async def alerted(db: Database, *kinds: str) -> None:
    """Return when there has been an alert of one of these kinds, whether it goes on or not."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return await tx.fetch_value(
                "SELECT EXISTS (SELECT FROM alerts WHERE kind = ANY ($1::text[]))", list(kinds)
            )

    await eventually(look)


async def shows(url: str, text: str) -> None:
    """Return when a GET is answered with this in it."""

    async def look() -> bool:
        async with httpx.AsyncClient(timeout=10) as http:
            try:
                return text in (await http.get(url)).text
            except httpx.HTTPError:
                return False

    await eventually(look)


async def status_of(url: str) -> int:
    """What a GET is answered with; 0 when it is not answered."""
    async with httpx.AsyncClient(timeout=10) as http:
        try:
            return (await http.get(url)).status_code
        except httpx.HTTPError:
            return 0


async def answers(url: str, status: int, *, within: float = 30.0) -> None:
    """Return when a GET is answered so."""

    async def look() -> bool:
        return await status_of(url) == status

    await eventually(look, within=within)
