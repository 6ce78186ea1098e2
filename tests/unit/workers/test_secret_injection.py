"""Secrets in requests: each in its place, and nothing but a value there (SC1, S4)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.workers import made

from rota.tenants.secrets import Masked
from rota.workers.delivery import secret_injection
from rota.workers.delivery.request import Request, request_of
from rota.workers.delivery.secret_injection import Unsendable

BASE = "https://acme.example:8443"
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60)


def request(
    *, url: str = f"{BASE}/", body: str = "", payload: bool = False, **headers: str
) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method="POST", url=url, headers=named, body=body.encode(), is_payload=payload)


def filled(template: Request, **values: str) -> Request:
    return secret_injection.fill(template, {name: Masked(value) for name, value in values.items()})


@pytest.mark.parametrize(
    ("value", "path", "query"),
    [
        ("plain-1_2.3~", "plain-1_2.3~", "plain-1_2.3~"),
        ("a/b", "a/b", "a%2Fb"),
        ("a&b=c+d", "a&b=c+d", "a%26b%3Dc%2Bd"),
        ("?#", "%3F%23", "%3F%23"),
        ("%41", "%2541", "%2541"),
        (" \r\n\0", "%20%0D%0A%00", "%20%0D%0A%00"),
        ("Ċ", "%C4%8A", "%C4%8A"),
        ("@:", "@:", "%40%3A"),
        ("${secrets.B}", "$%7Bsecrets.B%7D", "%24%7Bsecrets.B%7D"),
    ],
)
def test_a_url_gets_its_values_encoded_by_position(value: str, path: str, query: str) -> None:
    template = request(url=f"{BASE}/x/${{secrets.A}}/y?k=${{secrets.A}}&z=1")
    assert filled(template, A=value).url == f"{BASE}/x/{path}/y?k={query}&z=1"


@given(TEXTS)
def test_no_value_changes_whom_it_calls_or_adds_a_parameter(value: str) -> None:
    """S4: whatever the secret is, it is one part of the path and one value of the query."""
    template = request(url=f"{BASE}/x/${{secrets.A}}?k=${{secrets.A}}&z=1")
    url = filled(template, A=value).url
    parts = urlsplit(url)
    assert url.isascii()
    assert url.isprintable()
    assert f"{parts.scheme}://{parts.netloc}" == BASE
    assert unquote(parts.path) == f"/x/{value}"
    assert parse_qsl(parts.query, strict_parsing=True) == [("k", value), ("z", "1")]
    assert not parts.fragment


@given(TEXTS)
def test_no_value_breaks_out_of_a_payload(value: str) -> None:
    payload: dict[str, Any] = {"a": ["${secrets.A}"], "n": 1, "b": "x${secrets.A}y"}
    template = request(body=json.dumps(payload), payload=True)
    decoded = json.loads(filled(template, A=value).body)
    assert decoded == {"a": [value], "n": 1, "b": f"x{value}y"}


@given(TEXTS)
def test_no_value_breaks_out_of_a_form(value: str) -> None:
    template = request(
        body="a=${secrets.A}&b=2", Content_Type="application/x-www-form-urlencoded; charset=utf-8"
    )
    assert parse_qsl(filled(template, A=value).body.decode()) == [("a", value), ("b", "2")]


@given(TEXTS)
def test_a_body_of_text_gets_the_value_as_it_is(value: str) -> None:
    template = request(body="<k>${secrets.A}</k>", Content_Type="text/plain")
    assert filled(template, A=value).body == f"<k>{value}</k>".encode()


def test_a_body_that_says_it_is_json_gets_it_escaped() -> None:
    for kind in ("application/json", "application/vnd.api+json; charset=utf-8", "Application/JSON"):
        template = request(body='{"k": "${secrets.A}"}', Content_Type=kind)
        assert json.loads(filled(template, A='"\\\n').body) == {"k": '"\\\n'}


@pytest.mark.parametrize("value", ["a\r\nX-I: 1", "\n", "a\n", "\0", "Ċ", "\x7f", "a\x0bb", "é"])
def test_a_header_that_would_not_be_one_line_of_ascii_is_not_sent(value: str) -> None:
    """S4. The sentence names the header, and nothing of the value."""
    with pytest.raises(Unsendable) as caught:
        filled(request(Authorization="Bearer ${secrets.A}"), A=value)
    assert "the header Authorization cannot be sent" in str(caught.value)
    assert "X-I" not in str(caught.value)
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


@given(TEXTS | st.text("ab \t~!\n", min_size=1))
def test_a_header_is_sent_whole_or_not_at_all(value: str) -> None:
    fits = all(" " <= c <= "~" or c == "\t" for c in value) and value[-1] not in " \t"
    if not fits:
        with pytest.raises(Unsendable):
            filled(request(X_Key="k ${secrets.A}"), A=value)
        return
    sent = filled(request(X_Key="k ${secrets.A}"), A=value).headers["X-Key"]
    assert sent == f"k {value}"


def test_eight_kilobytes_fit_a_body_and_no_header_or_url() -> None:
    """S4."""
    long = "x" * 8_192
    assert filled(request(body="${secrets.A}"), A=long).body == long.encode()
    with pytest.raises(Unsendable, match="headers are too long once their secrets are filled in"):
        filled(request(X_Key="${secrets.A}"), A=long)
    with pytest.raises(Unsendable, match="URL is too long once its secrets are filled in"):
        filled(request(url=f"{BASE}/${{secrets.A}}"), A=long)
    with pytest.raises(Unsendable, match="body is too long"):
        filled(request(body="${secrets.A}" * 100), A=long)


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(Unsendable, match="unknown secret B;"):
        filled(request(url=f"{BASE}/${{secrets.A}}", X="${secrets.B}"), A="1")


def test_what_a_value_says_is_not_filled_in_again() -> None:
    template = request(body="${secrets.A}")
    assert filled(template, A="${secrets.B}", B="no").body == b"${secrets.B}"


def test_what_is_no_placeholder_stays() -> None:
    template = request(body="$secrets.A ${A} ${secrets.} {secrets.A} ${secrets.a-b}", X="$ {}")
    assert secret_injection.names_in(template) == frozenset()
    assert filled(template) == template


def test_rotas_own_headers_are_not_filled() -> None:
    """An owner's idempotency key is a name for a slot: the same in every record."""
    schedule = made.schedule(
        idempotency_key="${secrets.A}", headers={"X-Key": "${secrets.B}"}, payload="${secrets.C}"
    )
    template = request_of(made.claim(), schedule)
    assert secret_injection.names_in(template) == {"B", "C"}
    sent = filled(template, B="bee", C="sea")
    assert sent.headers["Idempotency-Key"].startswith("${secrets.A}:")
    assert sent.headers["X-Key"] == "bee"
    assert sent.body == b'"sea"'


def test_a_payload_given_for_one_run_is_filled_too() -> None:
    template = request_of(made.claim(payload='{"k":"${secrets.A}"}'), made.schedule(body="text"))
    assert json.loads(filled(template, A='"').body) == {"k": '"'}


def test_the_template_is_what_is_shown() -> None:
    """S8: what is remembered never saw a value; tokens and signatures show as one character."""
    schedule = made.schedule(headers={"X-Key": "${secrets.B}"})
    template = request_of(made.claim(), schedule)
    shown = json.loads(template.shown)
    assert shown["headers"]["X-Key"] == "${secrets.B}"
    sent = Request(
        method="POST",
        url=BASE,
        headers={
            "Rota-Token": "rft_x",
            "webhook-signature": "v1,x",
            "Rota-Signature": "v1,x",
            "X": "y",
        },
        body=b"",
    )
    assert json.loads(sent.shown)["headers"] == {
        "Rota-Token": "…",
        "webhook-signature": "…",
        "Rota-Signature": "…",
        "X": "y",
    }


def test_a_request_shows_nothing_of_itself() -> None:
    sent = filled(request(url=f"{BASE}/${{secrets.A}}", X="${secrets.A}"), A="CANARY")
    assert "CANARY" not in f"{sent} {sent!r}"
