"""HTTP targets: what may be called, and with what (HX1, S4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.targets import HttpTarget, InvalidTarget
from rota.targets.http import MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, METHODS

URL = "https://acme.example/hook"


def problems(**given_: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidTarget) as caught:
        HttpTarget.read(**{"url": URL, **given_})  # pyright: ignore[reportArgumentType]
    return [(each.field, each.message) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://acme.example/webhooks/a?b=c#d", "acme.example"),
        ("http://ACME.example:8080", "acme.example:8080"),
        ("https://acme.example:443/", "acme.example"),
        ("https://acme.example./", "acme.example"),
        ("http://127.0.0.1:7682/echo", "127.0.0.1:7682"),
        ("http://[::1]:80/", "[::1]"),
        ("http://[::1]:81/", "[::1]:81"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://localhost/", "localhost"),
        ("HTTPS://x_y.internal/%20", "x_y.internal"),
        ("https://acme.example/${secrets.TOKEN}", "acme.example"),
    ],
)
def test_a_url_with_http_or_https_and_a_host_is_taken_as_written(url: str, host: str) -> None:
    target = HttpTarget.read(url)
    assert target.url == url
    assert target.host == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "acme.example/hook",
        "//acme.example",
        "ftp://acme.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:acme.example",
        "https:///path",
        "https://",
        "https://?x",
        "https://user@acme.example/",
        "https://user:password@acme.example/",
        "https://good.example@evil.example/",
        "https://acme.example:0/",
        "https://acme.example:99999/",
        "https://acme.example:x/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://acme .example/",
        "https://acme.example/\r\nX-Injected: 1",
        "https://acme.example/a b",
        "https://acme.example/\0",
        "https://bücher.example/",
        "https://acme.example\\@evil.example/",
        "https://-acme.example/",
        "https://acme..example/",
        "https://" + "a" * 3000 + ".example/",
    ],
)
def test_a_url_that_clients_might_read_differently_is_refused(url: str) -> None:
    (problem,) = problems(url=url)
    assert problem[0] == "target_url"
    assert problem[1].startswith("Invalid target_url: expected") or "got" in problem[1]


def test_a_password_in_a_url_is_not_repeated() -> None:
    ((_, message),) = problems(url="https://user:hunter2@acme.example/")
    assert "hunter2" not in message


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_taken_in_any_case(method: str) -> None:
    assert HttpTarget.read(URL, method=method.lower()).method == method


@pytest.mark.parametrize("method", ["", "FETCH", "CONNECT", "TRACE", "POST\r\n", "PO ST"])
def test_other_methods_are_refused(method: str) -> None:
    assert [field for field, _ in problems(method=method)] == ["method"]


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "content-length", "Transfer-Encoding", "CONNECTION", "Upgrade"),
        *("Idempotency-Key", "Rota-Fence", "rota-anything", "Webhook-Signature", "webhook-id"),
    ],
)
def test_headers_that_are_rotas_or_the_connections_own_are_refused(name: str) -> None:
    ((field, message),) = problems(headers={name: "x"})
    assert field == f"headers.{name}"
    assert "set by Rota" in message


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-I: 1"},
        {"X-A": "\n"},
        {"X-A": "a\0"},
        {"X-A": "\u010a"},
        {"X-A": " padded "},
        {"X A": "1"},
        {"X-A:": "1"},
        {"": "1"},
        {"Xä": "1"},
        {"X\r\n": "1"},
        {"X-A": "1", "x-a": "2"},
    ],
)
def test_headers_that_could_become_others_are_refused_without_their_value(
    headers: dict[str, str],
) -> None:
    ((field, message),) = problems(headers=headers)
    assert field.startswith("headers.")
    assert "X-I" not in message
    assert all(c.isprintable() for c in field + message)


def test_ordinary_headers_are_taken() -> None:
    headers = {"Authorization": "Bearer ${secrets.TOKEN}", "X-Team": "ops\ttwo", "X-Empty": ""}
    assert HttpTarget.read(URL, headers=headers).headers == headers


def test_the_number_and_the_size_of_headers_are_limited() -> None:
    assert problems(headers={f"X-{n}": "" for n in range(MAX_HEADERS + 1)})
    assert problems(headers={"X-Long": "a" * MAX_HEADER_BYTES})
    HttpTarget.read(URL, headers={f"X-{n}": "" for n in range(MAX_HEADERS)})


def test_a_body_is_limited_by_its_bytes_and_not_sent_with_get() -> None:
    HttpTarget.read(URL, body="ü" * (MAX_BODY_BYTES // 2))
    assert problems(body="ü" * (MAX_BODY_BYTES // 2 + 1))[0][0] == "body"
    assert problems(body="x", method="GET")[0][0] == "body"
    assert problems(body="\ud800")[0][0] == "body"


def test_everything_wrong_is_reported_at_once() -> None:
    found = problems(url="ftp://x", method="FETCH", headers={"Host": "x"}, body="\ud800")
    assert [field for field, _ in found] == ["target_url", "method", "headers.Host", "body"]


@given(st.text())
def test_any_text_for_a_url_is_taken_or_refused_and_never_breaks(text: str) -> None:
    try:
        target = HttpTarget.read(text)
    except InvalidTarget:
        return
    assert target.host
    assert target.url.isascii()
    assert target.url.isprintable()


@given(st.text(), st.text())
def test_no_header_that_is_taken_can_end_a_line(name: str, value: str) -> None:
    try:
        target = HttpTarget.read(URL, headers={name: value})
    except InvalidTarget:
        return
    line = f"{name}: {target.headers[name]}"
    assert line.isascii()
    assert not set(line) & set("\r\n\0")
