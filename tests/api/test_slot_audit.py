"""`/v1/audit/slots`: expected slots against outcomes, as a tenant sees them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.api.conftest import Api, fields_of, problem

if TYPE_CHECKING:
    from rota.db import Database

HOUR = timedelta(hours=1)


async def lost(api: Api, db: Database, **fields: Any) -> tuple[dict[str, Any], datetime]:
    """A schedule made three hours ago, every hour, of which nothing is recorded."""
    made = await api.created(cron_expr=None, timezone=None, interval="1h", **fields)
    async with db.transaction() as tx:
        began = await tx.fetch_value(
            """UPDATE schedules SET created_at = created_at - interval '210 minutes',
                      updated_at = updated_at - interval '210 minutes',
                      anchor_at = anchor_at - interval '3 hours'
                WHERE key = $1 RETURNING anchor_at""",
            made["key"],
        )
        await tx.execute("UPDATE audit SET at = $1::timestamptz", began - HOUR / 2)
    return made, began


async def test_what_is_unexplained_is_named(api: Api, db: Database) -> None:
    made, began = await lost(api, db)
    other = await api.created(name="other")
    page = (await api.get("/v1/audit/slots")).json()
    assert page["next_cursor"] is None
    found = {each["schedule_id"]: each for each in page["items"]}
    assert set(found) == {made["id"], other["id"]}
    assert (found[other["id"]]["expected"], found[other["id"]]["unexplained"]) == (0, 0)
    shown = found[made["id"]]
    assert (shown["schedule_key"], shown["has_no_timer"], shown["more"]) == (
        made["key"],
        False,
        False,
    )
    assert (shown["expected"], shown["unexplained"]) == (3, 3)
    [run] = shown["runs"]
    assert datetime.fromisoformat(run["first_slot"]) == began
    assert (datetime.fromisoformat(run["last_slot"]), run["count"]) == (began + 2 * HOUR, 3)


async def test_one_schedule_and_a_range_of_time_can_be_asked_for(api: Api, db: Database) -> None:
    made, began = await lost(api, db)
    await api.created(name="other")
    asked = {"schedule_id": made["id"], "since": (began + HOUR).isoformat()}
    [shown] = (await api.get("/v1/audit/slots", **asked)).json()["items"]
    assert shown["unexplained"] == 2
    until = (began + 2 * HOUR).isoformat()
    [shown] = (await api.get("/v1/audit/slots", **asked, until=until)).json()["items"]
    assert shown["unexplained"] == 1


async def test_schedules_are_listed_page_by_page(api: Api) -> None:
    made = [(await api.created(name=f"s{n}"))["id"] for n in range(3)]
    first = (await api.get("/v1/audit/slots", limit=2)).json()
    second = (await api.get("/v1/audit/slots", limit=2, cursor=first["next_cursor"])).json()
    assert [each["schedule_id"] for each in first["items"] + second["items"]] == sorted(made)
    assert second["next_cursor"] is None


async def test_what_cannot_be_read_is_refused(api: Api) -> None:
    for query in (
        {"since": "yesterday-ish"},
        {"schedule_id": "x"},
        {"cursor": "x"},
        {"wrong": "1"},
    ):
        answer = await api.get("/v1/audit/slots", **query)
        problem(answer, 422)
        assert fields_of(answer) == list(query)
