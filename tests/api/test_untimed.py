"""Schedules with `on_demand`, through every operation that speaks of slots."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import Api, problem

ON_DEMAND: dict[str, Any] = {"cron_expr": None, "on_demand": True}


@pytest.mark.parametrize(
    "target", [{}, {"target_url": None, "job_type": "reports.build", "idempotency_key": None}]
)
async def test_it_is_made_read_listed_and_run(api: Api, target: dict[str, Any]) -> None:
    made = await api.created(**ON_DEMAND, **target)
    assert (made["status"], made["next_fire_at"], made["on_demand"]) == ("active", None, True)
    assert made["key"] == "morning-report::on_demand"
    shown = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert shown["on_demand"] is True
    assert [each["id"] for each in (await api.get("/v1/schedules")).json()["items"]] == [made["id"]]
    ran = await api.post(f"/v1/schedules/{made['id']}/trigger", {"payload": {"team": "dev"}})
    assert ran.json()["status"] == "waiting"


async def test_it_has_no_next_slot_and_why_says_what_happened(api: Api) -> None:
    made = await api.created(**ON_DEMAND)
    at = f"/v1/schedules/{made['id']}"
    upcoming = (await api.get(f"{at}/next")).json()
    assert (upcoming["slots"], upcoming["explanation"]) == ([], "when somebody asks for a run")
    none = (await api.get(f"{at}/why", at="2026-01-01T00:00:00Z")).json()
    assert none["outcome"] == "not_a_slot"
    assert "it fires when somebody asks for a run" in none["explanation"]
    ran = (await api.post(f"{at}/trigger")).json()
    second = ran["scheduled_for"][:19]
    asked = (await api.get(f"{at}/why", at=f"{second}Z")).json()
    assert (asked["outcome"], asked["firing"]["id"]) == ("waiting", ran["id"])
    exact = (await api.get(f"{at}/why", at=ran["scheduled_for"])).json()
    assert exact["firing"]["id"] == ran["id"]


async def test_upsert_and_bulk_take_it(api: Api) -> None:
    """TR15: the same fields again change nothing."""
    body = {"on_demand": True, "job_type": "reports.build", "overlap_policy": "allow"}
    first = (await api.put("/v1/schedules/by-key/task:reports.build", body)).json()
    again = (await api.put("/v1/schedules/by-key/task:reports.build", body)).json()
    assert (first["id"], first["version"]) == (again["id"], again["version"])
    bulk = await api.post(
        "/v1/schedules/bulk", {"items": [{**body, "name": f"b{n}"} for n in range(3)]}
    )
    assert bulk.json()["created"] == 3


async def test_limits_of_slots_are_refused_with_it(api: Api) -> None:
    answer = await api.post(
        "/v1/schedules", {"name": "x", "on_demand": True, "job_type": "x", "max_firings": 3}
    )
    assert problem(answer, 422)["errors"][0]["field"] == "max_firings"
