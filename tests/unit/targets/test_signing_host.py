"""The host of a signing key: one name however the URL is written, and one that people can give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.targets import signing_host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/hook", "example.com"),
        ("HTTPS://EXAMPLE.com", "example.com"),
        ("https://example.com.:443/x?y=1", "example.com"),
        ("http://example.com:80?u=https://other.example/", "example.com"),
        ("http://example.com:443/", "example.com"),
        ("https://example.com:8443/${secrets.A}", "example.com:8443"),
        ("https://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example"),
        ("https://XN--MNCHEN-3YA.example/", "xn--mnchen-3ya.example"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://0x7f.1:8080/", "127.0.0.1:8080"),
        ("http://[0:0:0:0:0:0:0:1]:81/", "[::1]:81"),
        ("http://[::1]/", "[::1]"),
    ],
)
def test_a_url_is_signed_for_its_host(url: str, host: str) -> None:
    assert signing_host.of_url(url) == host
    assert signing_host.read(url) == host
    assert signing_host.read(host) == host
    assert signing_host.read(f"  {host.upper()} ") == host


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "example.com/ path", "münchen.example", "https://", "user@example.com"),
        *("ftp://example.com", "example.com:0", "example.com:x", "[::1", "a..b", "x" * 3_000),
    ],
)
def test_what_names_no_host_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected a host as in the target's URL") as refused:
        signing_host.read(text)
    assert refused.value.field == "host"


@given(
    st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8}){0,2}", fullmatch=True),
    st.sampled_from(["", ":80", ":443", ":8443", ":1"]),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "/", "/a/b", "?q=1", "/x?y#z"]),
)
def test_the_name_that_people_give_is_the_one_that_is_signed_for(
    name: str, port: str, scheme: str, rest: str
) -> None:
    url = f"{scheme}://{name}{port}{rest}"
    assert signing_host.of_url(url) == signing_host.read(f"{name.upper()}{port}")
    assert signing_host.read(signing_host.of_url(url)) == signing_host.of_url(url)
