"""Which tasks of the operator's Celery fleet a tenant may send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, fields_of, problem

if TYPE_CHECKING:
    import httpx

SEND: dict[str, Any] = {"interval": "5m", "celery_task": "reports.daily", "queue": "reports"}


async def _tenant(api: Api, name: str, *allowed: str) -> Api:
    """A new tenant with a write key, to whom the operator allows these."""
    terms = {"name": name, "celery_allow": list(allowed)} if allowed else {"name": name}
    made = await api.post("/v1/tenants", terms)
    assert made.status_code == 201, made.text
    assert made.json()["celery_allow"] == list(allowed)
    key = await api.post("/v1/keys", {"tenant": name, "scopes": ["write"]})
    return replace(api, headers={"Authorization": f"Bearer {key.json()['key']}"})


def _refused(answer: httpx.Response, field: str) -> None:
    told = problem(answer, 422)
    assert fields_of(answer) == [field]
    assert "may not send reports.daily to Celery's queue reports" in told["detail"]
    assert "celery_allow" in told["detail"]


async def test_the_operators_tenant_sends_any_task_and_another_none(api: Api) -> None:
    assert (await api.post("/v1/schedules", {"key": "k", **SEND})).status_code == 201
    beta = await _tenant(api, "beta")
    _refused(await beta.post("/v1/schedules", {"key": "k", **SEND}), "celery_task")
    _refused(await beta.put("/v1/schedules/by-key/k", SEND), "celery_task")
    items = {"items": [{"key": "a", **SEND}, {"key": "b", "interval": "5m", "job_type": "t"}]}
    _refused(await beta.post("/v1/schedules/bulk", items), "items[0].celery_task")
    partly = (await beta.post("/v1/schedules/bulk", items, partial="true")).json()
    assert (partly["created"], partly["failed"]) == (1, 1)
    own = (await beta.get("/v1/schedules")).json()["items"][0]
    path = f"/v1/schedules/{own['id']}"
    changes = {"celery_task": "reports.daily", "queue": "reports"}
    _refused(await beta.patch(path, changes), "celery_task")
    step = {"steps": [{"job_type": "t"}, {"celery_task": "reports.daily", "queue": "reports"}]}
    _refused(
        await beta.post("/v1/schedules", {"key": "s", "interval": "5m", **step}),
        "steps[1].celery_task",
    )
    undo = {"steps": [{"job_type": "t", "compensate": step["steps"][1]}]}
    _refused(
        await beta.post("/v1/schedules", {"key": "s", "interval": "5m", **undo}),
        "steps[0].compensate.celery_task",
    )
    assert await api.count() == 2


async def test_what_one_tenant_was_allowed_is_not_remembered_for_another(api: Api) -> None:
    """The reading of items that are alike is shared; the permission is not."""
    for n in range(3):
        assert (await api.post("/v1/schedules", {"key": f"k{n}", **SEND})).status_code == 201
    items = {"items": [{"key": f"b{n}", **SEND} for n in range(5)]}
    assert (await api.post("/v1/schedules/bulk", items)).status_code == 201
    beta = await _tenant(api, "beta")
    _refused(await beta.post("/v1/schedules", {"key": "k", **SEND}), "celery_task")
    answer = await beta.post("/v1/schedules/bulk", items)
    assert fields_of(answer) == [f"items[{n}].celery_task" for n in range(5)]


@pytest.mark.parametrize(
    ("pattern", "task", "queue", "allowed"),
    [
        ("reports.*@reports", "reports.daily", "reports", True),
        ("reports.*@reports", "reports.daily", "mail", False),
        ("reports.*@reports", "billing.daily", "reports", False),
        ("reports.dail?@*", "reports.daily", "mail", True),
        ("*@celery", "anything.at.all", "celery", True),
        ("reports.*@reports", "reports.daily.x", "reports", True),
        ("Reports.*@reports", "reports.daily", "reports", False),
    ],
)
async def test_a_tenant_sends_what_a_pattern_allows(
    api: Api, pattern: str, task: str, queue: str, allowed: bool
) -> None:
    beta = await _tenant(api, "beta", "other.task@other", pattern)
    given = {"key": "k", "interval": "5m", "celery_task": task, "queue": queue}
    answer = await beta.post("/v1/schedules", given)
    assert answer.status_code == (201 if allowed else 422), answer.text


async def test_patterns_are_changed_and_taken_back_by_the_operator_alone(api: Api) -> None:
    made = (await api.post("/v1/tenants", {"name": "beta"})).json()
    path = f"/v1/tenants/{made['id']}"
    changed = await api.patch(path, {"celery_allow": ["a.*@q", "a.*@q", "b@*"]})
    assert changed.json()["celery_allow"] == ["a.*@q", "b@*"]
    assert (await api.patch(path, {"celery_allow": None})).json()["celery_allow"] == []
    for wrong in ("a.*@q", ["a.*"], ["a@b@c"], ["[ab]@q"], ["a b@q"], [7], ["a@q"] * 101):
        answer = await api.patch(path, {"celery_allow": wrong})
        assert fields_of(answer) == ["celery_allow"], answer.text
    key = await api.post("/v1/keys", {"tenant": "beta", "scopes": ["admin"]})
    own = replace(api, headers={"Authorization": f"Bearer {key.json()['key']}"})
    assert (await own.patch(path, {"celery_allow": ["*@*"]})).status_code in {403, 404}
