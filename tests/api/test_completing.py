"""`POST /v1/firings/{id}/complete`, `/fail` and `/extend`: long work, by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, fields_of, problem
from tests.api.outcomes import claimed, found, left, token, triggered, vault

from rota.api.events import WorkReported
from rota.events import Recorder
from rota.tenants.secrets import Rings, Vault
from rota.workers.async_timeout import AsyncTimeouts

if TYPE_CHECKING:
    import httpx

NOBODYS = "fir_01ARZ3NDEKTSV4RRFFQ69G5FAV"
VERBS = ("complete", "fail", "extend")


@pytest.fixture(autouse=True)
def with_a_ring(api: Api) -> None:
    # The engine is made for every test anew.
    object.__setattr__(api.engine, "vault", vault())


async def say(api: Api, firing_id: str, verb: str, **body: Any) -> httpx.Response:
    """As a target would: without any key."""
    return await api.http.post(f"/v1/firings/{firing_id}/{verb}", json=body)


async def test_completed_it_has_succeeded_with_its_result(api: Api) -> None:
    firing_id, its = await left(api, await api.created())
    assert (await found(api, firing_id))["status"] == "running"
    answer = await say(api, firing_id, "complete", token=its, result={"rows": 3})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["id"]) == ("succeeded", firing_id)
    ended = await found(api, firing_id)
    assert (ended["status"], ended["result_excerpt"]) == ("succeeded", '{"rows":3}')
    assert (ended["result_code"], ended["detached_until"]) == (202, None)
    attempts = (await api.get(f"/v1/firings/{firing_id}/attempts")).json()["items"]
    assert [each["outcome"] for each in attempts] == ["succeeded"]


async def test_the_token_may_come_as_a_header(api: Api) -> None:
    firing_id, its = await left(api, await api.created())
    path = f"/v1/firings/{firing_id}/complete"
    answer = await api.http.post(path, headers={"Rota-Token": its})
    assert answer.json()["status"] == "succeeded"


async def test_failed_it_is_tried_again_as_its_schedule_says(api: Api) -> None:
    firing_id, its = await left(api, await api.created())
    answer = await say(api, firing_id, "fail", token=its, error="disk full")
    assert answer.json()["status"] == "retrying"
    assert answer.json()["retry_at"] is not None
    attempts = (await api.get(f"/v1/firings/{firing_id}/attempts")).json()["items"]
    assert [(each["outcome"], each["error"]) for each in attempts] == [("failed", "disk full")]
    assert (await found(api, firing_id))["status"] == "retrying"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({}, {"retry": False}),
        ({"max_attempts": 1}, {}),
        ({"delivery": "at_most_once"}, {}),
        ({"retry_window": 0}, {}),
    ],
)
async def test_a_failure_that_is_the_last_is_dead(
    api: Api, fields: dict[str, Any], body: dict[str, Any]
) -> None:
    firing_id, its = await left(api, await api.created(**fields))
    answer = await say(api, firing_id, "fail", token=its, error="disk full", **body)
    assert answer.json()["status"] == "dead"
    ended = await found(api, firing_id)
    assert ended["reason"].startswith("disk full")


async def test_extended_it_has_longer_and_never_less(api: Api) -> None:
    firing_id, its = await left(api, await api.created(async_timeout_seconds=7200))
    had = (await found(api, firing_id))["detached_until"]
    shorter = await say(api, firing_id, "extend", token=its, seconds=5)
    assert shorter.json()["until"] == had
    usual = await say(api, firing_id, "extend", token=its)
    assert usual.json()["until"] > had
    assert usual.json()["status"] == "running"
    assert (await found(api, firing_id))["detached_until"] == usual.json()["until"]


async def test_the_overlap_policy_sees_it_as_running(api: Api) -> None:
    made = await api.created(overlap_policy="skip")
    firing_id, its = await left(api, made)
    assert (await triggered(api, made))["status"] == "skipped"
    await say(api, firing_id, "complete", token=its)
    assert (await triggered(api, made))["status"] == "waiting"


async def test_who_is_quick_may_complete_before_its_answer_is_recorded(api: Api) -> None:
    firing = await triggered(api, await api.created())
    await claimed(api.engine.db)
    its = await token(api, firing["id"])
    extended = await say(api, firing["id"], "extend", token=its, seconds=86_400)
    assert extended.status_code == 200
    answer = await say(api, firing["id"], "complete", token=its, result="done")
    assert answer.json()["status"] == "succeeded"


async def test_who_holds_no_token_of_it_learns_nothing(api: Api) -> None:
    """Wrong token, unknown id, no token, another firing's: one and the same answer."""
    made = await api.created(overlap_policy="allow")
    firing_id, its = await left(api, made)
    other, others = await left(api, made)
    ended, theirs = await left(api, made)
    await say(api, ended, "complete", token=theirs)
    for verb in VERBS:
        answers = [
            await say(api, firing_id, verb, token=others),
            await say(api, firing_id, verb, token="rft_" + "A" * 43),
            await say(api, firing_id, verb, token="ü"),
            await say(api, firing_id, verb, token=await token(api, firing_id, 2)),
            await say(api, firing_id, verb),
            await say(api, NOBODYS, verb, token=its),
            await say(api, NOBODYS, verb, token=await token(api, NOBODYS)),
            await say(api, "nonsense", verb, token=its),
            await say(api, ended, verb, token=its),
            await api.http.post(f"/v1/firings/{other}/{verb}", headers=api.headers),
        ]
        assert {each.status_code for each in answers} == {403}
        assert len({each.content for each in answers}) == 1
    assert (await found(api, firing_id))["status"] == "running"


async def test_without_a_ring_there_are_no_tokens(api: Api) -> None:
    firing_id, its = await left(api, await api.created())
    object.__setattr__(api.engine, "vault", Vault(Rings(None)))
    problem(await say(api, firing_id, "complete", token=its), 403)


async def test_who_holds_one_is_told_what_became_of_it(api: Api) -> None:
    firing_id, its = await left(api, await api.created(backoff_delay=0))
    await say(api, firing_id, "fail", token=its)
    for verb in VERBS:
        answer = await say(api, firing_id, verb, token=its)
        assert "attempt 1 is over; the firing is retrying" in problem(answer, 409)["detail"]
    await claimed(api.engine.db)
    second = await token(api, firing_id, 2)
    answer = await say(api, firing_id, "complete", token=its)
    assert "token of attempt 2, got that of attempt 1" in problem(answer, 409)["detail"]
    assert (await say(api, firing_id, "complete", token=second)).status_code == 200
    for each in (its, second):
        answer = await say(api, firing_id, "complete", token=each)
        assert "the firing has ended; it is succeeded" in problem(answer, 409)["detail"]


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("complete", {"result": "x" * 65_536}, "result"),
        ("complete", {"result": "a\0b"}, "result"),
        ("complete", {"rezult": 1}, "rezult"),
        ("fail", {"error": "x" * 2_001}, "error"),
        ("fail", {"retry": "no"}, "retry"),
        ("extend", {"seconds": 0}, "seconds"),
        ("extend", {"seconds": 604_801}, "seconds"),
    ],
)
async def test_what_cannot_be_taken_is_refused(
    api: Api, verb: str, body: dict[str, Any], field: str
) -> None:
    firing_id, its = await left(api, await api.created())
    answer = await say(api, firing_id, verb, token=its, **body)
    problem(answer, 422)
    assert fields_of(answer) == [field]
    assert (await found(api, firing_id))["status"] == "running"


async def test_a_deleted_schedules_work_can_still_be_completed_or_failed(api: Api) -> None:
    for verb, status in (("complete", "succeeded"), ("fail", "dead")):
        made = await api.created(name=verb)
        firing_id, its = await left(api, made)
        await api.delete(f"/v1/schedules/{made['id']}")
        assert (await say(api, firing_id, verb, token=its)).json()["status"] == status


async def test_cancel_previous_ends_it_with_the_next_look(api: Api) -> None:
    made = await api.created(overlap_policy="cancel_previous")
    firing_id, _ = await left(api, made)
    following = await triggered(api, made)
    assert following["status"] == "blocked"
    assert await AsyncTimeouts(api.engine.db, api.engine.bus).run_once() == 1
    ended = await found(api, firing_id)
    assert (ended["status"], ended["reason"]) == ("cancelled", "overlap")
    assert (await found(api, following["id"]))["status"] == "waiting"


async def test_what_was_reported_is_an_event(api: Api) -> None:
    recorder = Recorder(api.engine.bus)
    firing_id, its = await left(api, await api.created())
    await say(api, firing_id, "complete", token=its)
    (reported,) = recorder.all(WorkReported)
    assert (reported.status, reported.attempt) == ("succeeded", 1)
