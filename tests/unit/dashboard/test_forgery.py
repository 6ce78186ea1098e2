"""Requests that another site made somebody's browser send."""

from __future__ import annotations

import pytest

from rota.dashboard import cookies, forgery


@pytest.mark.parametrize(
    ("origin", "site", "ours"),
    [
        (None, None, True),  # a program
        ("https://rota.example:7682", None, True),
        ("https://ROTA.example:7682", "same-origin", True),
        ("null", "same-origin", True),  # our own forms: the pages give away no referrer
        (None, "none", True),  # typed, or a bookmark
        ("null", "cross-site", False),
        ("https://rota.example", None, False),  # another port is another site
        ("https://evil.example", None, False),
        ("https://evil.example", "same-origin", False),
        ("https://rota.example:7682", "same-site", False),
        ("https://rota.example:7682.evil.example", None, False),
    ],
)
def test_the_headers_tell_where_a_request_comes_from(
    origin: str | None, site: str | None, ours: bool
) -> None:
    """S15."""
    assert forgery.same_origin(origin, site, "rota.example:7682") is ours


def test_a_token_fits_its_session_alone_and_says_nothing_of_it() -> None:
    token = forgery.token("secret-1")
    assert forgery.matches("secret-1", token)
    assert not forgery.matches("secret-2", token)
    assert not forgery.matches("secret-1", "")
    assert not forgery.matches("secret-1", "é" * 64)
    assert "secret" not in token


@pytest.mark.parametrize(
    ("scheme", "host", "secure"),
    [
        ("https", "rota.example", True),
        ("http", "127.0.0.1", True),
        ("http", "localhost", True),
        ("http", "::1", True),
        ("http", "a.localhost", True),
        ("http", "10.0.0.7", False),
        ("http", "localhost.evil.example", False),
    ],
)
def test_the_strict_cookie_is_used_wherever_browsers_take_it(
    scheme: str, host: str, secure: bool
) -> None:
    assert cookies.is_secure(scheme, host) is secure


@pytest.mark.parametrize(
    ("public_url", "secure"),
    [
        (None, False),
        ("https://rota.example/", True),
        ("https://Rota.example:8443", True),
        ("http://rota.example", False),
        ("https://other.example", False),
    ],
)
def test_behind_a_proxy_that_ends_tls_the_public_url_tells(
    public_url: str | None, secure: bool
) -> None:
    assert cookies.is_secure("http", "rota.example", public_url=public_url) is secure
