"""A channel's URL: what may be one, what is seen of it, and what is taken out of others' words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.targets import OPEN, TargetPolicy
from rota.watch import addresses


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com/services/T0/B0/token", "https://hooks.example.com/…"),
        ("https://user:password@Host.example:8443/x?token=1", "https://host.example:8443/…"),
        ("http://[::1]:9000/x", "http://[::1]:9000/…"),
        ("slack://token/b/c", "slack://…"),
        ("mailto://user:password@gmail.com", "mailto://…"),
        ("HTTPS://hooks.example.com", "https://hooks.example.com/…"),
    ],
)
def test_of_a_webhook_the_host_is_shown_and_of_others_the_scheme(url: str, shown: str) -> None:
    assert addresses.shown(url) == shown


def test_user_and_password_go_into_a_header() -> None:
    found = addresses.webhook("https://us%40er:p%2Fw@host.example/x?y#z")
    assert found.url == "https://host.example/x?y"
    assert found.headers == {"Authorization": "Basic dXNAZXI6cC93"}
    assert "host.example" not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "https:///x",
        "https://",
        "https://a b/",
        "https://host/\n",
        "https://host:0/",
        "https://host:99999/",
        "https://ex\u00e4mple/",
        "https://good.example\\@evil.example/",
        "://x",
        "x" * 41 + "://y",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid url"):
        addresses.check(url, policy=OPEN, others=True)


@pytest.mark.parametrize(
    "url", ["https://10.0.0.1/", "http://localhost/", "https://user:p@169.254.169.254/"]
)
def test_the_guard_of_targets_is_asked(url: str) -> None:
    """S1."""
    with pytest.raises(InvalidInput):
        addresses.check(url, policy=TargetPolicy(), others=True)


@pytest.mark.parametrize("scheme", ["json", "jsons", "xml", "xmls", "form", "forms"])
def test_webhooks_in_disguise_are_refused(scheme: str) -> None:
    with pytest.raises(InvalidInput, match="https://"):
        addresses.check(f"{scheme}://host/", policy=OPEN, others=True)


def test_other_services_only_where_they_are_on() -> None:
    assert addresses.check("slack://a/b/c", policy=OPEN, others=True) == "slack"
    with pytest.raises(InvalidInput, match="ROTA_APPRISE"):
        addresses.check("slack://a/b/c", policy=OPEN, others=False)


_SECRET = st.text("abcdefXYZ0123456789-_", min_size=6, max_size=30)


@given(_SECRET, _SECRET, _SECRET, st.sampled_from(["https", "slack"]))
def test_no_part_that_may_be_secret_is_left_in_a_text(
    password: str, path: str, token: str, scheme: str
) -> None:
    """S8."""
    url = f"{scheme}://user:{password}@hooks.example.com/{path}?t={token}"
    said = f"could not call {url}: {path} {password} t={token}"
    left = addresses.scrubbed(said, url)
    assert password not in left
    assert path not in left
    assert f"t={token}" not in left
