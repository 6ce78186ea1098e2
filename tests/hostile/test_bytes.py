"""S4: exactly the bytes that were meant are sent, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.hostile.calling import call
from tests.hostile.raw import OK, answering, serving
from tests.unit.workers.made import claim, schedule

from rota.targets import OPEN
from rota.workers.delivery.http import HttpCall, HttpCaller
from rota.workers.delivery.http.caller import _Template
from rota.workers.delivery.request import Request, request_of

INJECTIONS = [
    *(
        "a\r\nX-I: 1",
        "\r\n\r\nGET / HTTP/1.1\r\n",
        "\n",
        "\r",
        "\0",
        "a\nb",
        "a\rb",
        "\x7f",
        "\x1b[",
    ),
    *("\u010a", "\u010d\u010a", "caf\xe9", "\u2028", "\U0001f600", "\x85", "\v", "\f"),
]


async def test_a_request_is_the_same_bytes_as_it_says() -> None:
    made = schedule(
        target_url="http://x.example/",
        headers={"X-Own": "a b\tc", "Authorization": "Bearer x"},
        payload={"team": "ops", "n": [1, 2]},
        method="POST",
    )
    with serving(answering(OK)) as server:
        url = f"{server.url}/hook;p=1?a=%7E&b=%2F&c=[1]#fragment"
        fields = {name: getattr(made.definition, name) for name in ("headers", "payload", "method")}
        assert (await call(url, **fields)).code == 200
    wanted = request_of(claim(), schedule(target_url=url, **fields))
    lines = [
        "POST /hook;p=1?a=%7E&b=%2F&c=[1] HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        *(f"{name}: {value}" for name, value in wanted.headers.items()),
        "Content-Length: 24",
    ]
    assert server.requests == ["\r\n".join(lines).encode() + b'\r\n\r\n{"team":"ops","n":[1,2]}']


@pytest.mark.parametrize(
    ("path", "asked"),
    [("", "/"), ("?q=1", "/?q=1"), ("/", "/"), ("/a//b/../c", "/a//b/../c"), ("#f", "/")],
)
async def test_a_path_is_asked_for_as_it_is_written(path: str, asked: str) -> None:
    with serving(answering(OK)) as server:
        await call(server.url + path, method="GET")
    assert server.requests[0].startswith(f"GET {asked} HTTP/1.1\r\n".encode())
    assert b"ontent-" not in server.requests[0]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_a_method_that_has_content_says_that_there_is_none(method: str) -> None:
    with serving(answering(OK)) as server:
        await call(server.url, method=method)
    assert b"\r\nContent-Length: 0\r\n\r\n" in server.requests[0]


def _prepared(caller: HttpCaller, request: Request) -> HttpCall:
    """A call whose template has become this request, whatever was checked before."""
    prepared = caller.prepare(claim(), schedule())
    template = prepared._template.template
    prepared._template = _Template(replace(template, request=request))
    return prepared


async def _send(request: Request) -> str:
    """As the caller sends it once secrets are filled in; the error."""
    async with HttpCaller(OPEN) as caller:
        prepared = _prepared(caller, request)
    reply = await prepared.send()
    assert reply.code is None
    return reply.error or ""


@pytest.mark.parametrize("bad", INJECTIONS)
@pytest.mark.parametrize("place", ["value", "name", "path", "query", "method"])
async def test_what_would_begin_another_line_is_not_sent(bad: str, place: str) -> None:
    with serving(answering(OK)) as server:
        url = f"{server.url}/" + {"path": bad, "query": f"?q={bad}"}.get(place, "")
        headers = {"X-Ok": "1"}
        if place in {"value", "name"}:
            headers |= {"X-Own": bad} if place == "value" else {f"X{bad}": "1"}
        method = f"POST{bad}" if place == "method" else "POST"
        error = await _send(Request(method=method, url=url, headers=headers, body=b"{}"))
        assert error.startswith("not sent: expected visible ASCII")
        assert (server.connections, server.requests) == (0, [])


@pytest.mark.parametrize("bad", INJECTIONS)
async def test_what_would_begin_another_line_in_a_fact_is_not_sent(bad: str) -> None:
    with serving(answering(OK)) as server:
        made = schedule(target_url=f"{server.url}/", idempotency_key=f"k{bad}")
        async with HttpCaller(OPEN) as caller:
            reply = await caller.prepare(claim(), made).send()
        assert str(reply.error).startswith("not sent: expected visible ASCII")
        assert (server.connections, server.requests) == (0, [])


async def test_a_space_would_end_the_path_and_is_not_sent() -> None:
    with serving(answering(OK)) as server:
        url = f"{server.url}/a HTTP/1.1"
        error = await _send(Request(method="GET", url=url, headers={}, body=b""))
        assert error.startswith("not sent")
        assert server.connections == 0


async def test_a_long_value_and_a_body_of_any_bytes_arrive_whole() -> None:
    with serving(answering(OK)) as server:
        body = bytes(range(256)) * 1024
        request = Request(
            method="POST", url=f"{server.url}/", headers={"X-Long": "v" * 8000}, body=body
        )
        async with HttpCaller(OPEN) as caller:
            prepared = _prepared(caller, request)
            assert (await prepared.send()).code == 200
    assert server.requests[0].endswith(b"\r\n\r\n" + body)
    assert b"\r\nX-Long: " + b"v" * 8000 + b"\r\n" in server.requests[0]
