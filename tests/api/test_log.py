"""GET /v1/firings: all of a tenant's firings, as a log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
from tests.api.conftest import Api, caller, fields_of, problem

from rota import ids
from rota.api import cursors
from rota.history.log import LogPlace

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


async def record(
    api: Api, schedule: dict[str, Any], *ends: datetime, status: str = "succeeded"
) -> list[str]:
    """Firings that ended at these instants, of a slot long before."""
    made: list[UUID] = []
    async with api.engine.db.transaction() as tx:
        for end in ends:
            made.append(uuid4())
            await tx.execute(
                """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                        triggered_by, finished_at)
                   SELECT $1, id, tenant_id, 1, $3, $4, 'schedule', $5
                     FROM schedules WHERE id = $2""",
                made[-1],
                ids.from_text(ids.Kind.SCHEDULE, schedule["id"]),
                NOON - timedelta(days=400),
                status,
                end,
            )
    return [ids.to_text(ids.Kind.FIRING, each) for each in made]


async def listed(api: Api, **query: Any) -> list[str]:
    answer = await api.get("/v1/firings", **query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]]


async def test_live_ones_come_first_then_the_newest_end(api: Api) -> None:
    one, other = await api.created(), await api.created(name="other", key="other")
    early, late = await record(api, one, NOON, NOON + timedelta(seconds=1))
    (between,) = await record(api, other, NOON + timedelta(milliseconds=500), status="dead")
    live = (await api.post(f"/v1/schedules/{one['id']}/trigger")).json()["id"]
    assert await listed(api) == [live, late, between, early]
    assert await listed(api, schedule_id=other["id"]) == [between]


async def test_since_leaves_out_what_had_ended_before_and_keeps_what_is_live(api: Api) -> None:
    made = await api.created()
    _, at, after = await record(
        api, made, NOON - timedelta(microseconds=1), NOON, NOON + timedelta(hours=1)
    )
    live = (await api.post(f"/v1/schedules/{made['id']}/trigger")).json()["id"]
    assert await listed(api, since=NOON.isoformat()) == [live, after, at]


@pytest.mark.parametrize(
    ("status", "expected"),
    [("waiting", 1), ("live", 1), ("ended", 3), ("dead", 1), ("succeeded", 2), ("running", 0)],
)
async def test_it_can_be_narrowed_to_a_status_or_a_group(
    api: Api, status: str, expected: int
) -> None:
    made = await api.created()
    await record(api, made, NOON, NOON)
    await record(api, made, NOON, status="dead")
    await api.post(f"/v1/schedules/{made['id']}/trigger")
    assert len(await listed(api, status=status)) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
async def test_pages_of_any_size_list_everything_once(api: Api, limit: int) -> None:
    """Ends that are equal too: a place is a firing."""
    made = await api.created(overlap_policy="allow")
    await record(api, made, *[NOON] * 3, NOON + timedelta(seconds=1))
    for _ in range(2):
        await api.post(f"/v1/schedules/{made['id']}/trigger")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await api.get("/v1/firings", limit=limit, **cursor)).json()
        assert len(page["items"]) <= limit
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == await listed(api)
    assert len(set(seen)) == 6


async def test_what_ends_between_two_pages_is_not_left_out(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    await record(api, made, NOON)
    live = [(await api.post(f"/v1/schedules/{made['id']}/trigger")).json()["id"] for _ in range(3)]
    first = (await api.get("/v1/firings", limit=1)).json()
    assert [each["id"] for each in first["items"]] == live[-1:]
    assert (await api.post(f"/v1/firings/{live[0]}/cancel")).status_code == 200
    rest = await listed(api, cursor=first["next_cursor"])
    assert rest[:2] == [live[1], live[0]]
    assert len(rest) == 3


async def test_nobody_sees_another_tenants(engine: Engine, http: httpx.AsyncClient) -> None:
    """S6."""
    acme = await caller(engine, http, "write", tenant="acme")
    other = await caller(engine, http, "write", tenant="other")
    made = await acme.created()
    await record(acme, made, NOON)
    await acme.post(f"/v1/schedules/{made['id']}/trigger")
    assert len(await listed(acme)) == 2
    assert await listed(other) == []
    assert await listed(other, schedule_id=made["id"]) == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"status": "failed"}, "status"),
        ({"since": "yesterday-ish"}, "since"),
        ({"schedule_id": "fir_x"}, "schedule_id"),
        ({"cursor": "nonsense"}, "cursor"),
        (
            {"cursor": cursors.encode({"finished_at": "0001-01-01T00:00:00+14:00", "id": uuid4()})},
            "cursor",
        ),
        ({"until": "2026-01-01"}, "until"),
    ],
)
async def test_what_cannot_be_read_is_refused(api: Api, query: dict[str, str], field: str) -> None:
    answer = await api.get("/v1/firings", **query)
    problem(answer, 422)
    assert fields_of(answer) == [field]


async def test_a_place_before_all_there_is_ends_the_list(api: Api) -> None:
    await record(api, await api.created(), NOON)
    place = LogPlace(datetime(1970, 1, 1, tzinfo=UTC), uuid4())
    assert await listed(api, cursor=cursors.encode(place)) == []
