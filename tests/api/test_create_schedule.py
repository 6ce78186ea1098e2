"""POST /v1/schedules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.api.conftest import SCHEDULE, Api, fields_of, made_of, problem


async def test_the_example_of_the_contract_works_as_it_stands(api: Api) -> None:
    answer = await api.post("/v1/schedules", SCHEDULE)
    assert answer.status_code == 201
    made = answer.json()
    assert made["id"].startswith("sch_")
    assert made["next_fire_at"].endswith("Z")
    assert datetime.fromisoformat(made["next_fire_at"]) > datetime(2020, 1, 1, tzinfo=UTC)
    assert made["status"] == "active"
    assert made["version"] == 1
    assert made | SCHEDULE == made


async def test_it_reads_back_with_every_field_it_was_made_of(api: Api) -> None:
    fields: dict[str, Any] = {
        "name": "all",
        "key": "all/of:it",
        "description": "two\nlines",
        "tags": ["a", "b"],
        "interval": "5m",
        "timezone": "Europe/Madrid",
        "start_at": "2090-01-01T00:00:00Z",
        "end_at": "2091-01-01T00:00:00Z",
        "max_firings": 7,
        "target_url": "https://acme.example/x?y=1",
        "method": "PUT",
        "headers": {"X-Team": "ops"},
        "payload": {"a": [1, None, "é"]},
        "idempotency_key": "idem",
        "misfire_policy": "skip",
        "misfire_cap": 3,
        "misfire_grace": "30s",
        "misfire_window": "2h",
        "overlap_policy": "queue",
        "delivery": "at_most_once",
        "timeout_seconds": 12,
        "max_attempts": 5,
        "backoff": "linear",
        "backoff_delay": "10s",
        "backoff_max": "20m",
        "priority": 9,
        "jitter_seconds": 4,
        "fire_window_seconds": 6,
        "capture": "failures",
        "enabled": False,
    }
    made = await api.created(**(dict.fromkeys(SCHEDULE) | fields))
    again = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert {name: again[name] for name in fields} == fields
    assert again["status"] == "paused"
    assert again["next_fire_at"] is None
    assert {name: again[name] for name in made if name in again} == {
        name: value for name, value in made.items() if name in again
    }


async def test_a_task_and_each_kind_of_trigger_can_be_made(api: Api) -> None:
    bare = {"cron_expr": None, "target_url": None, "job_type": "resize"}
    for number, trigger in enumerate(
        (
            {"interval": 90},
            {"interval": "PT5M"},
            {"run_at": "2090-01-01T00:00:00Z"},
            {"rrule": "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
            {"text": "every weekday at 9am"},
        )
    ):
        made = await api.created(**(bare | {"name": f"s{number}"} | trigger))
        assert made["job_type"] == "resize"
        assert made["next_fire_at"] is not None


async def test_a_key_that_is_taken_is_a_conflict_that_names_it(api: Api) -> None:
    await api.created(key="mine")
    answer = await api.post("/v1/schedules", made_of(key="mine", name="another"))
    problem(answer, 409)
    assert fields_of(answer) == ["key"]
    assert await api.count() == 1


async def test_without_a_key_it_gets_one_from_its_name_and_trigger(api: Api) -> None:
    made = await api.created()
    assert made["key"] == "morning-report::cron:0 9 * * MON-FRI:America/New_York"


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown field", {"cronExpression": "0 9 * * *"}, "cronExpression"),
    ("two triggers", {"interval": "5m"}, "interval"),
    ("no trigger", {"cron_expr": None}, "cron_expr"),
    ("no target", {"target_url": None}, "target_url"),
    ("two targets", {"job_type": "x"}, "job_type"),
    ("an abbreviation for a zone", {"timezone": "EST"}, "timezone"),
    ("a day that does not exist", {"cron_expr": "0 0 30 2 *"}, "cron_expr"),
    ("an expression that is none", {"cron_expr": "0 9 * *"}, "cron_expr"),
    ("an interval below the minimum", {"cron_expr": None, "interval": "5s"}, "interval"),
    ("seconds below the minimum", {"cron_expr": "*/5 * * * * *"}, "cron_expr"),
    ("an instant in the past", {"cron_expr": None, "run_at": "2001-01-01T00:00:00Z"}, "run_at"),
    ("no name", {"name": None}, "name"),
    ("a name that is no text", {"name": 7}, "name"),
    ("a policy that is none", {"overlap_policy": "whatever"}, "overlap_policy"),
    ("a backoff that is none", {"backoff": "random"}, "backoff"),
    ("a priority out of range", {"priority": 10}, "priority"),
    ("an address that is none", {"target_url": "ftp://acme.example"}, "target_url"),
    ("a header of ours", {"headers": {"Host": "evil"}}, "headers"),
    ("a payload of 300 kB", {"payload": "x" * 300_000}, "payload"),
    ("what is set by Rota", {"status": "paused"}, "status"),
    ("what comes later", {"steps": []}, "steps"),
    ("NUL in a name", {"name": "a\0b"}, "name"),
]


@pytest.mark.parametrize(("fields", "field"), [each[1:] for each in BAD], ids=[e[0] for e in BAD])
async def test_bad_input_is_refused_by_name_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], field: str
) -> None:
    answer = await api.post("/v1/schedules", made_of(**fields))
    problem(answer, 422)
    assert any(name.startswith(field) for name in fields_of(answer)), answer.text
    assert await api.count() == 0


async def test_all_that_is_wrong_is_said_at_once(api: Api) -> None:
    answer = await api.post("/v1/schedules", made_of(timezone="EST", priority=99, nme="x"))
    problem(answer, 422)
    assert {"timezone", "priority", "nme"} <= set(fields_of(answer))


async def test_the_hint_for_an_abbreviated_zone_is_the_promised_one(api: Api) -> None:
    answer = await api.post("/v1/schedules", made_of(timezone="EST"))
    detail = problem(answer, 422)["detail"]
    assert "Invalid timezone: EST. Use IANA format (e.g., America/New_York)" in detail
