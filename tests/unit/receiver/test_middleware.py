"""The receiver in front of an application, on a real server of each kind."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.receiver import servers
from tests.unit.receiver.servers import Answer, Client, Target
from tests.unit.receiver.signed import OTHER, SECRET, headers

from rota.clock import SystemClock
from rota.receiver import MemoryStore, Receiver

if TYPE_CHECKING:
    from collections.abc import Generator

    from rota.receiver import Begun, Delivery

pytestmark = pytest.mark.timeout(60)

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
        ({"webhook-signature": "v1,AAAA"}, "one of the secrets"),
        ({"webhook-timestamp": "1"}, "compare the clocks"),
        ({"webhook-id": "fir_2"}, "one of the secrets"),
        ({"webhook-signature": None}, "this request is not signed"),
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
        assert target.entered.acquire(timeout=30)
        answer = client.post(BODY, signed())
        assert answer.status == 409
        assert int(answer.headers["retry-after"]) > 0
        assert "being handled right now" in detail(answer)
        target.may_go.set()
        assert first.result(30).status == 200
    assert client.post(BODY, signed()).headers["rota-duplicate"] == "true"
    assert len(target.bodies) == 1


def test_of_many_deliveries_at_once_one_is_handled(client: Client, target: Target) -> None:
    target.may_go.clear()
    everybody = threading.Barrier(12)

    def post(_: int) -> Answer:
        everybody.wait(30)
        return client.post(BODY, signed())

    with ThreadPoolExecutor(12) as threads:
        sent = [threads.submit(post, n) for n in range(12)]
        assert target.entered.acquire(timeout=30)
        target.may_go.set()
        statuses = sorted(each.result(30).status for each in sent)
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


def test_a_fence_that_is_no_number_is_a_400(client: Client, target: Target) -> None:
    answer = client.post(BODY, signed() | {"Rota-Fence": "-1"})
    assert answer.status == 400
    assert "Rota-Fence" in detail(answer)
    assert target.bodies == []


def test_a_body_that_is_too_large_is_refused(client: Client, target: Target) -> None:
    most, more = b"x" * 1_000, b"x" * 1_001
    assert client.post(most, signed(most)).status == 200
    answer = client.post(more, signed(more, firing="b"))
    assert answer.status == 413
    assert "at most 1000 bytes" in detail(answer)
    assert target.bodies == [most]
