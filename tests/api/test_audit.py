"""`/v1/audit`: every change with its actor; and what is still told of a deleted schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.api.conftest import SCHEDULE, Api, caller, fields_of, made_of, problem

if TYPE_CHECKING:
    import pytest

    from rota.api.engine import Engine

CLI_AGENT = "rota-cli/1.0"


def prefix(api: Api) -> str:
    """What the caller's key is shown by."""
    return api.headers["Authorization"].removeprefix("Bearer ").split("_")[1]


def on_the_command_line(api: Api, *, more: str = "") -> Api:
    return replace(api, headers=api.headers | {"User-Agent": f"{CLI_AGENT}{more}"})


async def audit(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = await api.get("/v1/audit", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_every_way_to_change_a_schedule_is_recorded_with_the_key_and_from_where(
    api: Api,
) -> None:
    cli, apply = on_the_command_line(api), on_the_command_line(api, more=" (apply)")
    made = await api.created(key="report")
    where = f"/v1/schedules/{made['id']}"
    await cli.patch(where, {"cron_expr": "0 8 * * *"})
    await apply.put("/v1/schedules/by-key/report", made_of(key="report", cron_expr="0 7 * * *"))
    await api.post(f"{where}/pause", {"reason": "maintenance"})
    await cli.post(f"{where}/resume")
    await cli.post("/v1/pause", {"reason": "freeze"})
    await api.post("/v1/resume")
    ran = (await cli.post(f"{where}/trigger")).json()
    await api.post(
        f"{where}/backfill", {"from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
    )
    await api.delete(where)
    found = await audit(api, schedule="report")
    by = prefix(api)
    assert [(each["action"], each["actor"]) for each in reversed(found)] == [
        ("created", f"api:{by}"),
        ("edited", f"cli:{by}"),
        ("edited", f"apply:{by}"),
        ("paused", f"api:{by}"),
        ("resumed", f"cli:{by}"),
        ("paused", f"cli:{by}"),
        ("resumed", f"api:{by}"),
        ("triggered", f"cli:{by}"),
        ("backfilled", f"api:{by}"),
        ("deleted", f"api:{by}"),
    ]
    assert found[-2]["changes"] == [
        {"field": "cron_expr", "old": "0 9 * * MON-FRI", "new": "0 8 * * *"}
    ]
    assert found[2]["details"] == {"firing_id": ran["id"], "outcome": "waiting"}
    assert {each["schedule_key"] for each in found} == {"report"}


async def test_a_run_by_a_person_is_manual_and_one_by_a_program_is_api(api: Api) -> None:
    made = await api.created(overlap_policy="allow")
    where = f"/v1/schedules/{made['id']}/trigger"
    assert (await on_the_command_line(api).post(where)).json()["triggered_by"] == "manual"
    assert (await api.post(where)).json()["triggered_by"] == "api"


async def test_a_schedule_says_who_created_it_and_who_changed_it_last(api: Api) -> None:
    made = await api.created()
    by = prefix(api)
    assert (made["created_by"], made["updated_by"]) == (f"api:{by}", f"api:{by}")
    await on_the_command_line(api).patch(f"/v1/schedules/{made['id']}", {"priority": 1})
    shown = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert (shown["created_by"], shown["updated_by"]) == (f"api:{by}", f"cli:{by}")


async def test_changes_are_narrowed_down_and_paged(api: Api) -> None:
    for key in ("a", "b", "c"):
        await api.created(key=key)
    await on_the_command_line(api).post("/v1/pause")
    by = prefix(api)
    assert len(await audit(api, action="paused")) == 3
    assert len(await audit(api, actor=f"cli:{by}")) == 3
    assert len(await audit(api, actor="cli")) == 3
    assert len(await audit(api, actor=by)) == 6
    assert len(await audit(api, actor="dashboard")) == 0
    assert len(await audit(api, schedule="a")) == 2
    assert await audit(api, schedule="nobodys") == []
    assert await audit(api, since="2090-01-01") == []
    seen: list[str] = []
    cursor: str | None = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = (await api.get("/v1/audit", limit=4, **more)).json()
        seen += [f"{each['schedule_key']} {each['action']}" for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["c paused", "b paused", "a paused", "c created", "b created", "a created"]


async def test_a_filter_that_fits_little_is_answered_in_parts(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.schedules.audit.LOOK", 2)
    for key in ("a", "b", "c", "d", "e"):
        await api.created(key=key)
    page = (await api.get("/v1/audit", action="deleted")).json()
    assert page["items"] == []
    assert page["next_cursor"]


async def test_what_a_query_has_wrong_is_told(api: Api) -> None:
    for query in ({"action": "eaten"}, {"since": "soon"}, {"cursor": "x"}, {"limit": "0"}):
        answer = await api.get("/v1/audit", **query)
        problem(answer, 422)
        assert fields_of(answer) == [next(iter(query))]


async def test_a_bulk_create_is_one_entry_and_each_schedule_has_its_own_history(api: Api) -> None:
    items = [{**SCHEDULE, "name": f"n{at}", "key": f"k{at}"} for at in range(201)]
    answer = await api.post("/v1/schedules/bulk", {"items": items})
    assert answer.status_code == 201
    [entry] = await audit(api)
    assert (entry["action"], entry["schedule_id"], entry["details"]) == (
        "created",
        None,
        {"count": 201},
    )
    await api.post(f"/v1/schedules/{answer.json()['items'][7]['id']}/pause")
    told = [each["action"] for each in await audit(api, schedule="k7")]
    assert told == ["paused", "created"]


async def test_a_deleted_schedule_keeps_its_history_and_its_reasons(api: Api) -> None:
    made = await api.created(key="gone", timezone="UTC", cron_expr="0 9 * * *")
    await api.delete(f"/v1/schedules/{made['id']}")
    problem(await api.get(f"/v1/schedules/{made['id']}"), 404)
    assert [each["action"] for each in await audit(api, schedule="gone")] == ["deleted", "created"]
    assert [each["action"] for each in await audit(api, schedule=made["name"])] == [
        "deleted",
        "created",
    ]
    ahead = await api.get(f"/v1/schedules/{made['id']}/why", at=made["next_fire_at"])
    assert ahead.json()["outcome"] == "deleted"
    assert f"through the API (key {prefix(api)})" in ahead.json()["explanation"]
    before = await api.get(f"/v1/schedules/{made['id']}/why", at="2020-01-01T09:00")
    assert before.json()["outcome"] == "not_armed"


async def test_a_live_schedule_is_meant_before_a_deleted_one_of_the_same_key(api: Api) -> None:
    gone = await api.created(key="same")
    await api.delete(f"/v1/schedules/{gone['id']}")
    again = await api.created(key="same")
    assert {each["schedule_id"] for each in await audit(api, schedule="same")} == {again["id"]}
    assert {each["schedule_id"] for each in await audit(api, schedule=gone["id"])} == {gone["id"]}


async def test_another_tenants_deleted_schedule_is_not_told_of(api: Api, engine: Engine) -> None:
    made = await api.created(key="mine")
    await api.delete(f"/v1/schedules/{made['id']}")
    other = await caller(engine, api.http, "admin", tenant="other")
    problem(await other.get(f"/v1/schedules/{made['id']}/why", at="2090-01-01"), 404)
    assert await audit(other, schedule=made["id"]) == []
    assert await audit(other, schedule="mine") == []
    assert await audit(other) == []


async def test_why_at_the_instant_of_a_manual_run_tells_of_the_run(api: Api) -> None:
    made = await api.created(timezone="UTC", cron_expr="0 9 1 1 *")
    ran = (await on_the_command_line(api).post(f"/v1/schedules/{made['id']}/trigger")).json()
    second = f"{ran['scheduled_for'][:19]}Z"
    for at in (second, ran["scheduled_for"]):
        answer = (await api.get(f"/v1/schedules/{made['id']}/why", at=at)).json()
        assert answer["firing"]["id"] == ran["id"]
        assert answer["explanation"].startswith("No slot, but a run that somebody asked for.")
