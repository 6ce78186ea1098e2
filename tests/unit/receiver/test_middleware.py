"""The receiver in front of an application, on a real server of each kind."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.deadlines import patience
from tests.unit.receiver import servers
from tests.unit.receiver.servers import Answer, Client, Target
from tests.unit.receiver.signed import OTHER, SECRET, headers

from rota.clock import SystemClock
from rota.receiver import MemoryStore, Receiver

if TYPE_CHECKING:
    from collections.abc import Generator

    from rota.receiver import Begun, Delivery


BODY = '{"team": "ops", "é": "\\u0000"}'.encode()


class Elsewhere:
    """A store of somebody's own: only the protocol, and not the one that is known to be quick."""

    def __init__(self) -> None:
        self._memory = MemoryStore()

    def begin(self, delivery: Delivery) -> Begun:
        return self._memory.begin(delivery)

    def finish(self, delivery: Delivery, *, ok: bool) -> None:
        self._memory.finish(delivery, ok=ok)


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture(params=["asgi", "asgi with a store", "wsgi", "wsgi in parts"])
def client(request: pytest.FixtureRequest, target: Target) -> Generator[Client]:
    kind: str = request.param
    store = Elsewhere() if "store" in kind else None
    receiver = Receiver(secrets=[OTHER, SECRET], store=store, max_body=1_000)
    serve = {
        "asgi": servers.asgi,
        "asgi with a store": servers.asgi,
        "wsgi": servers.wsgi,
        "wsgi in parts": servers.wsgi_parts,
    }[kind]
    with serve(receiver, target) as found:
        yield found


def signed(body: bytes = BODY, **fields: Any) -> dict[str, str]:
    return headers(body, at=SystemClock().now(), **fields)


def detail(answer: Answer) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    told = json.loads(answer.body)
    assert told["status"] == answer.status
    return told["detail"]


def test_what_is_signed_reaches_the_application_with_its_body(
    client: Client, target: Target
) -> None:
    """S13: and a secret of the one that is being replaced is as good."""
    assert client.post(BODY, signed(firing="a")).body == b"done"
    assert client.post(b"", signed(b"", firing="b", secret=OTHER)).status == 200
    assert target.bodies == [BODY, b""]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Rota-Signature": "v1,AAAA"}, "one of the keys"),
        ({"webhook-timestamp": "1"}, "compare the clocks"),
        ({"webhook-id": "fir_2"}, "one of the keys"),
        ({"Rota-Signature": None}, "this request is not signed"),
    ],
)
def test_what_is_not_signed_gets_a_401_with_a_sentence(
    client: Client, target: Target, change: dict[str, str | None], told: str
) -> None:
    changed = {k: v for k, v in (signed() | change).items() if v is not None}
    answer = client.post(BODY, changed)
    assert answer.status == 401
    assert told in detail(answer)
    assert target.bodies == []


def test_a_body_that_was_changed_on_the_way_is_refused(client: Client, target: Target) -> None:
    assert client.post(BODY.replace(b"ops", b"opz"), signed()).status == 401
    assert target.bodies == []


def test_a_firing_that_was_handled_is_answered_without_the_application(
    client: Client, target: Target
) -> None:
    """DS7, DS8: a repeated attempt, signed anew, hears of success and does nothing."""
    first = client.post(BODY, signed())
    again = client.post(BODY, signed())
    assert (first.status, again.status) == (200, 200)
    assert "rota-duplicate" not in first.headers
    assert (again.headers["rota-duplicate"], again.body) == ("true", b"")
    assert len(target.bodies) == 1


@pytest.mark.parametrize("failure", [500, 404, 302, 0])
def test_a_firing_whose_handler_failed_is_handled_again(
    client: Client, target: Target, failure: int
) -> None:
    """Whether it answered with an error or broke off with an exception (0)."""
    target.statuses = [failure]
    assert client.post(BODY, signed()).status == (failure or 500)
    assert client.post(BODY, signed()).body == b"done"
    assert client.post(BODY, signed()).headers["rota-duplicate"] == "true"
    assert len(target.bodies) == 2


def test_a_firing_that_was_only_accepted_comes_through_again(
    client: Client, target: Target
) -> None:
    """202 with Rota-Async: the work may die unfinished, and no duplicate may hide that."""
    target.statuses, target.headers = [202, 202], {"Rota-Async": "true"}
    assert client.post(BODY, signed()).status == 202
    assert client.post(BODY, signed()).status == 202
    target.headers = {}
    target.statuses = [202]
    assert client.post(BODY, signed()).status == 202
    assert client.post(BODY, signed()).headers["rota-duplicate"] == "true"
    assert len(target.bodies) == 3


def test_a_firing_that_is_being_handled_is_put_off(client: Client, target: Target) -> None:
    target.may_go.clear()
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(client.post, BODY, signed())
        assert target.entered.acquire(timeout=patience(30))
        answer = client.post(BODY, signed())
        assert answer.status == 409
        assert int(answer.headers["retry-after"]) > 0
        assert "being handled right now" in detail(answer)
        target.may_go.set()
        assert first.result(patience(30)).status == 200
    assert client.post(BODY, signed()).headers["rota-duplicate"] == "true"
    assert len(target.bodies) == 1


def test_of_many_deliveries_at_once_one_is_handled(client: Client, target: Target) -> None:
    target.may_go.clear()
    everybody = threading.Barrier(12)

    def post(_: int) -> Answer:
        everybody.wait(patience(30))
        return client.post(BODY, signed())

    with ThreadPoolExecutor(12) as threads:
        sent = [threads.submit(post, n) for n in range(12)]
        assert target.entered.acquire(timeout=patience(30))
        target.may_go.set()
        statuses = sorted(each.result(patience(30)).status for each in sent)
    assert set(statuses) <= {200, 409}
    assert len(target.bodies) == 1


def test_a_fence_older_than_one_seen_for_the_schedule_is_refused(
    client: Client, target: Target
) -> None:
    """LE6, F11: what a scheduler that lost its lease had sent off arrives too late."""
    assert client.post(BODY, signed(firing="a", schedule="sch_1", fence=8)).status == 200
    late = client.post(BODY, signed(firing="b", schedule="sch_1", fence=7))
    assert late.status == 409
    assert "retry-after" not in late.headers
    assert "got an older one" in detail(late)
    assert client.post(BODY, signed(firing="b", schedule="sch_2", fence=7)).status == 200
    assert client.post(BODY, signed(firing="c", schedule="sch_1", fence=8)).status == 200
    assert client.post(BODY, signed(firing="d", schedule="sch_1")).status == 200
    assert len(target.bodies) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Rota-Fence", "9"),
        ("Rota-Schedule-Id", "sch_2"),
        ("Rota-Scheduled-For", "2026-03-09T14:00:00Z"),
        ("Rota-Attempt", "2"),
        ("Rota-Catch-Up", "true"),
        ("Rota-Step", "charge"),
        ("Rota-Token", "rft_mine"),
        ("Rota-Callback", "https://evil.example/v1/firings/fir_1"),
        ("Idempotency-Key", "another"),
        ("Rota-New-In-A-Later-Version", "x"),
    ],
)
def test_nothing_that_rota_says_can_be_changed_added_or_left_out(
    client: Client, target: Target, name: str, value: str
) -> None:
    """Each header that the plain signature does not cover."""
    said: dict[str, Any] = {"rota_attempt": "1", "rota_catch_up": "false", "rota_step": "pay"}
    said |= {"rota_scheduled_for": "2026-03-09T13:00:00Z", "idempotency_key": "k"}
    said |= {"rota_token": "rft_1", "rota_callback": "https://rota.example/v1/firings/fir_1"}
    whole = signed(schedule="sch_1", fence=8, **said)
    for wrong in (
        {**whole, name: value},
        {each: given for each, given in whole.items() if each != name},
        {**whole, name.replace("-", "_"): value},
    ):
        if wrong != whole:
            assert client.post(BODY, wrong).status == 401, wrong
    assert target.bodies == []


def test_a_forged_fence_does_not_shut_out_the_true_ones(client: Client, target: Target) -> None:
    assert client.post(BODY, signed(firing="a", schedule="sch_1", fence=8)).status == 200
    forged = signed(firing="b", schedule="sch_1", fence=8) | {"Rota-Fence": "999999"}
    assert client.post(BODY, forged).status == 401
    assert client.post(BODY, signed(firing="c", schedule="sch_1", fence=8)).status == 200
    assert len(target.bodies) == 2


def test_a_plain_signature_alone_is_not_enough(client: Client, target: Target) -> None:
    """Standard Webhooks covers id, time and body: whoever relays it could say anything else."""
    plain = signed(schedule="sch_1", fence=8)
    del plain["Rota-Signature"]
    answer = client.post(BODY, plain)
    assert answer.status == 401
    assert "expected the header Rota-Signature" in detail(answer)
    moved = signed() | {"Rota-Signature": signed()["webhook-signature"]}
    assert client.post(BODY, moved).status == 401
    assert target.bodies == []


def test_the_application_is_given_what_was_verified(client: Client, target: Target) -> None:
    said: dict[str, Any] = {"rota_attempt": "3", "rota_catch_up": "true", "rota_firing_id": "fir_1"}
    said |= {"rota_scheduled_for": "2026-03-09T13:00:00Z"}
    assert client.post(BODY, signed(schedule="sch_1", fence=8, **said)).status == 200
    (call,) = target.calls
    assert (call.id, call.firing_id, call.schedule_id) == ("fir_1", "fir_1", "sch_1")
    assert (call.fence, call.attempt, call.catch_up) == (8, 3, True)
    assert call.scheduled_for == datetime(2026, 3, 9, 13, tzinfo=UTC)


def test_facts_that_are_signed_and_make_no_sense_are_refused(
    client: Client, target: Target
) -> None:
    answer = client.post(BODY, signed(rota_fence="-1"))
    assert answer.status == 401
    assert "compare the versions" in detail(answer)
    assert target.bodies == []


def test_a_body_that_is_too_large_is_refused(client: Client, target: Target) -> None:
    most, more = b"x" * 1_000, b"x" * 1_001
    assert client.post(most, signed(most)).status == 200
    answer = client.post(more, signed(more, firing="b"))
    assert answer.status == 413
    assert "at most 1000 bytes" in detail(answer)
    assert target.bodies == [most]
