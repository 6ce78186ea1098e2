"""Schedules that are lists of steps, and those that follow others, through the API."""

from __future__ import annotations

from typing import Any

from tests.api.conftest import Api, fields_of, problem
from tests.api.outcomes import vault

FLIGHT: dict[str, Any] = {
    "name": "flight",
    "target_url": "https://acme.example/flights",
    "compensate": {"target_url": "https://acme.example/flights", "method": "DELETE"},
}
HOTEL: dict[str, Any] = {"job_type": "hotel.book", "queue": "trips", "max_attempts": 5}
TRIP: dict[str, Any] = {"key": "trip", "on_demand": True, "steps": [FLIGHT, HOTEL]}
PULLED: dict[str, Any] = {
    "key": "pulled",
    "on_demand": True,
    "steps": [
        {
            "name": "one",
            "job_type": "a",
            "queue": "q",
            "compensate": {"job_type": "z", "queue": "q"},
        },
        {"name": "two", "job_type": "b", "queue": "q", "max_attempts": 1},
    ],
}


async def test_steps_read_back_as_they_were_given_each_with_a_name(api: Api) -> None:
    made = (await api.post("/v1/schedules", TRIP)).json()
    assert made["steps"] == [FLIGHT, {"name": "step-2", **HOTEL}]
    assert made["timeout_seconds"] is None
    again = await api.put("/v1/schedules/by-key/trip", {**TRIP, "steps": made["steps"]})
    assert again.json()["version"] == 1
    edited = await api.patch(f"/v1/schedules/{made['id']}", {"job_type": "x"})
    assert (edited.json()["steps"], edited.json()["job_type"]) == (None, "x")


async def test_what_is_wrong_with_a_step_is_named(api: Api) -> None:
    steps = [{"name": "a b", "job_type": "x"}, {"target_url": "https://x.example", "retries": 3}]
    answer = await api.post("/v1/schedules", {**TRIP, "steps": steps})
    problem(answer, 422)
    assert fields_of(answer) == ["steps[0].name", "steps[1].retries"]
    answer = await api.post("/v1/schedules", {**TRIP, "job_type": "x"})
    assert "exactly one" in problem(answer, 422)["detail"]


async def test_a_follower_says_that_there_is_nobody_to_follow(api: Api) -> None:
    made = (
        await api.post("/v1/schedules", {"key": "report", "after": "load", "job_type": "x"})
    ).json()
    assert made["after"] == {"key": "load", "on": "succeeded"}
    assert (made["status"], made["next_fire_at"]) == ("active", None)
    at = f"/v1/schedules/{made['id']}"
    assert "no schedule with the key load" in (await api.get(at)).json()["warnings"][0]
    await api.post("/v1/schedules", {"key": "load", "interval": "5m", "job_type": "x"})
    assert "warnings" not in (await api.get(at)).json()
    circle = await api.put("/v1/schedules/by-key/load", {"after": "report", "job_type": "x"})
    assert "load after report after load" in problem(circle, 422)["detail"]


async def claimed(api: Api) -> dict[str, Any]:
    items = (await api.post("/v1/queues/q/claim")).json()["items"]
    assert len(items) == 1
    return items[0]


async def said(api: Api, claim: dict[str, Any], verb: str, **more: Any) -> dict[str, Any]:
    answer = await api.post(f"/v1/firings/{claim['id']}/{verb}", {"token": claim["token"], **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_pull_workers_take_one_step_after_another(api: Api) -> None:
    """In any language: complete hands the result on, fail turns it back."""
    object.__setattr__(api.engine, "vault", vault())
    made = (await api.post("/v1/schedules", PULLED)).json()
    await api.post("/v1/schedules", {"key": "alarm", "job_type": "x"} | _on_failure("pulled"))
    ran = (
        await api.post(f"/v1/schedules/{made['id']}/trigger", {"payload": {"for": "ada"}})
    ).json()
    at = f"/v1/firings/{ran['id']}"

    assert [each["status"] for each in (await api.get(at)).json()["steps"]] == ["waiting"] * 2
    one = await claimed(api)
    assert [each["status"] for each in (await api.get(at)).json()["steps"]] == [
        "running",
        "waiting",
    ]
    assert (one["job_type"], one["payload"]) == ("a", {"for": "ada", "steps": {}})
    assert (await said(api, one, "complete", result={"n": 7}))["status"] == "waiting"
    shown = (await api.get(at)).json()
    assert shown["steps"] == [
        {"name": "one", "status": "succeeded"},
        {"name": "two", "status": "running"},
    ]

    two = await claimed(api)
    assert (two["job_type"], two["payload"]["steps"]) == ("b", {"one": {"n": 7}})
    assert two["idempotency_key"] != one["idempotency_key"]
    assert (await said(api, two, "fail", error="full"))["status"] == "waiting"

    undo = await claimed(api)
    assert (undo["job_type"], undo["idempotency_key"]) == ("z", f"{ran['id']}:one:compensate")
    assert (await said(api, undo, "complete"))["status"] == "dead"
    ended = (await api.get(at)).json()
    assert ended["reason"] == "step two: full, after 1 attempt; compensated one"
    assert [each["status"] for each in ended["steps"]] == ["compensated", "failed"]
    attempts = (await api.get(f"{at}/attempts")).json()["items"]
    assert [(each["step"], each["compensating"]) for each in attempts] == [
        ("one", False),
        ("two", False),
        ("one", True),
    ]
    # The end of it all is followed, not that of a step.
    async with api.engine.db.transaction() as tx:
        rows = await tx.fetch("SELECT triggered_by, payload -> 'after' ->> 'key' FROM queue")
    assert [tuple(row.values()) for row in rows] == [("after", "pulled")]


def _on_failure(key: str) -> dict[str, Any]:
    return {"after": {"key": key, "on": "failed"}}
