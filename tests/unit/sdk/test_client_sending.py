"""Retries and errors, in the cases that a network makes and a server of ours does not."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rota
from rota.sdk.client import errors
from rota.sdk.client.sending import Policy, retry_after

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://rota.example"
SCHEDULE = {
    "id": "sch_1",
    "key": "k",
    "name": "n",
    "status": "active",
    "version": 1,
    "created_at": "2027-01-01T00:00:00Z",
    "updated_at": "2027-01-01T00:00:00Z",
}
Answer = httpx.Response | httpx.TransportError


def _ok(value: Any = SCHEDULE, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=value)


def _problem(status: int, detail: str = "no", wait: str | None = None, **more: Any) -> Answer:
    headers = {"Content-Type": "application/problem+json"}
    if wait is not None:
        headers["Retry-After"] = wait
    body = msgspec.json.encode({"status": status, "detail": detail, **more})
    return httpx.Response(status, headers=headers, content=body)


@dataclass
class Network:
    """Gives these answers, one after another, and remembers what was asked."""

    answers: list[Answer]
    seen: list[httpx.Request] = field(default_factory=list[httpx.Request])

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, httpx.TransportError):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def _sync(network: Network, **settings: Any) -> rota.Client:
    client = rota.Client(URL, "rota_k", transport=httpx.MockTransport(network), **settings)
    client._policy = Policy(retries=client._policy.retries, first_wait=0.001)
    return client


def _try(network: Network, work: Callable[[rota.Client], Any], **settings: Any) -> Any:
    with _sync(network, **settings) as client:
        return work(client)


RETRIED: list[Callable[[rota.Client], Any]] = [
    lambda client: client.get_schedule("sch_1"),
    lambda client: client.put_schedule("k", name="n"),
    lambda client: client.create_schedule(name="n"),
    lambda client: client.pause("sch_1"),
]
NOT_RETRIED: list[Callable[[rota.Client], Any]] = [
    lambda client: client.update_schedule("sch_1", name="n"),
    lambda client: client.put_schedule("k", name="n", if_version=1),
    lambda client: client.create_key(scopes=["read"]),
    lambda client: client.create_tenant(name="n"),
    lambda client: client.replay("fir_1"),
    lambda client: client.cancel("fir_1"),
    lambda client: client.complete("fir_1", token="t"),
]
PASSING: list[Answer] = [
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("slow"),
    httpx.ReadTimeout("slow"),
    httpx.ReadError("reset"),
    httpx.RemoteProtocolError("broke off"),
    _problem(429, wait="0"),
    _problem(503, wait="0"),
    httpx.Response(503, text="a proxy's page"),
]


@pytest.mark.parametrize("work", RETRIED)
@pytest.mark.parametrize("trouble", PASSING, ids=str)
def test_a_safe_call_is_sent_again_the_same(
    trouble: Answer, work: Callable[[rota.Client], Any]
) -> None:
    """With the same Idempotency-Key, so that it is carried out once."""
    network = Network([trouble, trouble, _ok()])
    assert _try(network, work).id == "sch_1"
    assert len(network.seen) == 3
    assert len({(each.method, str(each.url), each.content) for each in network.seen}) == 1
    assert len({each.headers.get("Idempotency-Key") for each in network.seen}) == 1


@pytest.mark.parametrize("work", NOT_RETRIED)
@pytest.mark.parametrize("trouble", PASSING, ids=str)
def test_any_other_call_is_sent_once(trouble: Answer, work: Callable[[rota.Client], Any]) -> None:
    network = Network([trouble, _ok()])
    with pytest.raises((errors.Unreachable, errors.RotaApiError)):
        _try(network, work)
    assert len(network.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        _problem(500),
        _problem(404),
        _problem(422),
        _problem(503),  # of Rota's own, and without saying when: there is no key ring
        _problem(429, wait="31"),  # longer than it waits by itself
        httpx.UnsupportedProtocol("gopher"),
    ],
    ids=str,
)
def test_what_would_fail_again_is_not_tried_again(answer: Answer) -> None:
    network = Network([answer, _ok()])
    with pytest.raises((errors.Unreachable, errors.RotaApiError)):
        _try(network, RETRIED[0])
    assert len(network.seen) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_it_gives_up_after_so_many_retries(retries: int) -> None:
    network = Network([httpx.ConnectError("refused")])
    with pytest.raises(errors.Unreachable, match=r"expected a server at http://rota.example"):
        _try(network, RETRIED[0], retries=retries)
    assert len(network.seen) == retries + 1


async def test_the_other_client_retries_alike() -> None:
    network = Network([httpx.ReadError("reset"), _problem(429, wait="0"), _ok()])
    transport = httpx.MockTransport(network)
    async with rota.AsyncClient(URL, "rota_k", transport=transport) as client:
        client._policy = Policy(first_wait=0.001)
        assert (await client.create_schedule(name="n")).id == "sch_1"
    assert len(network.seen) == 3
    assert len({each.headers["Idempotency-Key"] for each in network.seen}) == 1


async def test_the_other_client_raises_alike() -> None:
    network = Network([_problem(404, "there is none")])
    transport = httpx.MockTransport(network)
    async with rota.AsyncClient(URL, "rota_k", transport=transport) as client:
        with pytest.raises(errors.NotFound, match="there is none"):
            await client.get_schedule("sch_1")


def test_whoever_closes_the_client_ends_its_wait() -> None:
    network = Network([_problem(429, wait="29"), _ok()])
    client = _sync(network)

    def closing(request: httpx.Request) -> httpx.Response:
        threading.Thread(target=client.close).start()
        return network(request)

    client._http = httpx.Client(transport=httpx.MockTransport(closing))
    with pytest.raises(errors.TooManyRequests):
        client.get_schedule("sch_1")
    assert len(network.seen) == 1


def test_what_an_earlier_try_deleted_is_deleted() -> None:
    """The first try did it and its answer was lost; that the second finds nothing is success."""
    network = Network([httpx.ReadTimeout("slow"), _problem(404)])
    _try(network, lambda client: client.delete_schedule("sch_1"))
    for first in (_problem(429, wait="0"), httpx.ConnectError("refused")):
        with pytest.raises(errors.NotFound):
            _try(Network([first, _problem(404)]), lambda client: client.delete_schedule("sch_1"))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Invalid),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (405, errors.RotaApiError),
        (409, errors.Conflict),
        (412, errors.PreconditionFailed),
        (413, errors.Invalid),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.ServerFault),
        (503, errors.ServerFault),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(status: int, kind: type[errors.RotaApiError]) -> None:
    network = Network([_problem(status, "it cannot be", wait="77")])
    with pytest.raises(errors.RotaApiError) as refused:
        _try(network, RETRIED[0])
    error = refused.value
    assert type(error) is kind
    assert (error.status, error.detail, error.retry_after) == (status, "it cannot be", 77)
    assert str(error) == "it cannot be"


def test_the_fields_at_fault_are_named_and_the_error_survives_pickling() -> None:
    wrong = [{"field": "name", "message": "too long"}, {"field": "tags", "message": "too many"}]
    with pytest.raises(errors.Invalid) as refused:
        _try(Network([_problem(422, "wrong", errors=wrong)]), RETRIED[0])
    assert refused.value.fields == {"name": "too long", "tags": "too many"}
    assert str(refused.value) == "2 fields are wrong:\n  name: too long\n  tags: too many"
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), again.fields) == (errors.Invalid, refused.value.fields)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>hello"),
        httpx.Response(200, json=[]),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"\xff"),
        httpx.Response(302, headers={"Location": "http://elsewhere.example"}),
    ],
    ids=str,
)
def test_what_is_not_rota_is_told_and_no_redirect_is_followed(answer: Answer) -> None:
    """The key goes to the server that was named, and no other."""
    network = Network([answer])
    with pytest.raises(errors.Unreachable, match=r"expected Rota at http://rota\.example"):
        _try(network, RETRIED[0])
    assert {each.url.host for each in network.seen} == {"rota.example"}


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"detail": 3, "errors": 4}', b"[]"])
def test_a_refusal_in_another_form_is_a_refusal(body: bytes) -> None:
    with pytest.raises(errors.ServerFault, match="got status 502"):
        _try(Network([httpx.Response(502, content=body)]), RETRIED[0])


def test_the_key_goes_where_it_is_asked_for_and_a_token_where_that_is() -> None:
    network = Network([_ok({"status": "ok", "id": "f", "attempt": 1})])
    with _sync(network) as client:
        client.healthz()
        client.complete("fir_1", token="rft_t")
        client.readyz()
    assert ["authorization" in each.headers for each in network.seen] == [False] * 3
    assert network.seen[1].headers["rota-token"] == "rft_t"


def test_not_ready_is_an_answer_and_not_tried_again() -> None:
    network = Network([_ok({"status": "not ready", "detail": "stopping"}, 503)])
    health = _try(network, lambda client: client.readyz())
    assert (health.is_ok, health.detail) == (False, "stopping")
    assert len(network.seen) == 1


def test_nothing_is_asked_before_the_first_item_and_pages_follow_when_needed() -> None:
    pages = [
        _ok(
            {"items": [{**SCHEDULE, "id": f"sch_{at}"}], "next_cursor": str(at) if at < 2 else None}
        )
        for at in range(3)
    ]
    network = Network(list(pages))
    with _sync(network) as client:
        found = client.list_schedules(tag="x", page_size=1)
        assert not network.seen
        assert next(found).id == "sch_0"
        assert len(network.seen) == 1
        assert [each.id for each in found] == ["sch_1", "sch_2"]
    assert [dict(each.url.params) for each in network.seen] == [
        {"limit": "1", "tag": "x"},
        {"limit": "1", "tag": "x", "cursor": "0"},
        {"limit": "1", "tag": "x", "cursor": "1"},
    ]


async def test_empty_pages_do_not_end_a_list() -> None:
    network = Network(
        [
            _ok({"items": [], "next_cursor": "a"}),
            _ok({"items": [SCHEDULE], "next_cursor": None}),
        ]
    )
    transport = httpx.MockTransport(network)
    async with rota.AsyncClient(URL, "rota_k", transport=transport) as client:
        assert [each.id async for each in client.list_schedules()] == ["sch_1"]
        network.seen.clear()
        assert (await client.list_schedules().page()).next_cursor == "a"
        assert len(network.seen) == 1


NOW = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("Fri, 01 Jan 2027 00:00:07 GMT", 7),
        ("Thu, 31 Dec 2026 00:00:00 GMT", 0),
        ("soon", None),
        ("-1", None),
        ("9" * 40, None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after(httpx.Response(429, headers={"Retry-After": text}), NOW) == seconds


@given(st.integers(0, 40), st.floats(0, 1))
def test_waits_grow_and_have_an_end(tried: int, chance: float) -> None:
    wait = Policy().backoff(tried, chance)
    longest = min(30.0, 0.2 * 2**tried)
    assert longest / 2 <= wait <= longest
