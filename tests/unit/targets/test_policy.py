"""What the operator allows: private targets, lists, ports, https."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.targets import OPEN, TargetPolicy, TargetRefused, addresses
from rota.targets.rules import Rules

STRICT = TargetPolicy()


def test_an_address_of_a_name_is_named_with_it_and_with_what_to_do() -> None:
    assert STRICT.wrong_with_addresses("internal.example", ["10.0.0.5"]) == (
        "the address 10.0.0.5 of internal.example is private; "
        "ROTA_ALLOW_PRIVATE_TARGETS=1 or allow_targets lets targets be private"
    )


def test_an_address_that_leads_to_another_says_where() -> None:
    wrong = STRICT.wrong_with_url("https://[2002:a00:5::]/")
    assert wrong is not None
    assert wrong.startswith("the address 2002:a00:5:: is private (it leads to 10.0.0.5);")


def test_a_name_of_this_machine_is_refused_before_any_look_up() -> None:
    wrong = STRICT.wrong_with_url("http://localhost:8080/")
    assert wrong is not None
    assert wrong.startswith("localhost is this machine;")
    assert OPEN.wrong_with_url("http://localhost:8080/") is None


def test_private_targets_open_all_but_metadata_services() -> None:
    for address in ("127.0.0.1", "10.0.0.5", "::1", "fd00::1", "192.168.1.1", "100.64.0.1"):
        assert OPEN.wrong_with_addresses("h", [address]) is None
    for address in ("169.254.169.254", "fd00:ec2::254", "168.63.129.16", "::ffff:169.254.169.254"):
        wrong = OPEN.wrong_with_addresses("h", [address])
        assert wrong is not None
        assert "only its own address in allow_targets" in wrong


@pytest.mark.parametrize(
    ("allow", "host", "address", "passes"),
    [
        ("10.0.0.0/8", "x.example", "10.1.2.3", True),
        ("10.0.0.0/8", "x.example", "192.168.0.1", False),
        ("10.0.0.0/8", "x.example", "::ffff:10.1.2.3", True),
        ("10.0.0.5", "x.example", "10.0.0.5", True),
        ("10.0.0.5", "x.example", "10.0.0.6", False),
        ("::1", "x.example", "::1", True),
        ("fd00::/8", "x.example", "fd12::1", True),
        ("intranet.example", "intranet.example", "10.0.0.5", True),
        ("intranet.example", "INTRANET.example.", "10.0.0.5", True),
        ("intranet.example", "x.intranet.example", "10.0.0.5", False),
        ("*.intranet.example", "x.intranet.example", "10.0.0.5", True),
        ("*.intranet.example", "intranet.example", "10.0.0.5", False),
        ("*.intranet.example", "notintranet.example", "10.0.0.5", False),
        ("intranet.example", "intranet.example", "169.254.169.254", False),
        ("169.254.169.254", "x.example", "169.254.169.254", True),
        ("example.com", "x.example", "8.8.8.8", True),
    ],
)
def test_the_allow_list_opens_just_what_it_names(
    allow: str, host: str, address: str, passes: bool
) -> None:
    policy = TargetPolicy.of(allow=[allow])
    assert (policy.wrong_with_addresses(host, [address]) is None) is passes


def test_an_allowed_name_of_this_machine_may_be_written() -> None:
    assert TargetPolicy.of(allow=["localhost"]).wrong_with_url("http://localhost/") is None


@pytest.mark.parametrize(
    ("deny", "url"),
    [
        ("evil.example", "https://evil.example/"),
        ("evil.example", "https://EVIL.example./"),
        ("*.evil.example", "https://a.b.evil.example/"),
        ("8.8.8.8", "https://8.8.8.8/"),
        ("8.8.8.8", "https://134744072/"),
        ("8.8.8.0/24", "https://[::ffff:8.8.8.8]/"),
        ("8.8.8.0/24", "https://[64:ff9b::8.8.8.8]/"),
        ("2606:4700::/32", "https://[2606:4700:4700::1111]/"),
    ],
)
def test_the_deny_list_wins_over_everything(deny: str, url: str) -> None:
    policy = TargetPolicy.of(allow_private=True, allow=[deny, "0.0.0.0/0"], deny=[deny])
    wrong = policy.wrong_with_url(url)
    assert wrong is not None
    assert wrong.endswith("may not be called here; deny_targets has it")


def test_a_denied_network_is_denied_to_names_too() -> None:
    policy = TargetPolicy.of(deny=["93.184.216.0/24"])
    with pytest.raises(TargetRefused, match="deny_targets has it"):
        policy.require("x.example", ["8.8.8.8", "93.184.216.34"])
    policy.require("x.example", ["8.8.8.8"])


def test_https_only_refuses_the_rest() -> None:
    policy = TargetPolicy.of(https_only=True)
    assert policy.wrong_with_url("https://example.com/") is None
    wrong = policy.wrong_with_url("http://example.com/")
    assert wrong == "expected https://, as https_only is on here, got http://"


@pytest.mark.parametrize(
    ("url", "passes"),
    [
        ("https://example.com/", True),
        ("https://example.com:443/", True),
        ("http://example.com:8443/", True),
        ("http://example.com/", False),
        ("https://example.com:22/", False),
    ],
)
def test_only_the_ports_listed_may_be_called(url: str, passes: bool) -> None:
    policy = TargetPolicy.of(ports=[443, 8443])
    assert (policy.wrong_with_url(url) is None) is passes


def test_no_address_at_all_is_refused() -> None:
    with pytest.raises(TargetRefused, match="has no address"):
        OPEN.require("x.example", [])


@pytest.mark.parametrize("entry", ["10.0.0.0/33", "1::2::3", "fe80::/200"])
def test_a_list_that_cannot_be_read_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="not appear to be"):
        Rules.read([entry])


@given(st.text(max_size=60))
def test_any_text_whatever_is_judged_without_a_fault(text: str) -> None:
    STRICT.wrong_with_url(f"http://{text}/")
    STRICT.wrong_with_url(text)
    STRICT.wrong_with_addresses(text, [text])
    addresses.literal(text)
