"""Who may call private targets when nobody says."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from rota.config import load
from rota.runtime.targets import target_policy

DSN = "postgresql://rota@db.example/rota"
HOME = {"HOME": "/home/ana"}
OPERATOR = UUID(int=1)


@pytest.mark.parametrize(
    ("variables", "private"),
    [
        ({}, True),
        ({"ROTA_DSN": DSN}, False),
        ({"ROTA_DSN": DSN, "ROTA_ALLOW_PRIVATE_TARGETS": "1"}, True),
        ({"ROTA_ALLOW_PRIVATE_TARGETS": "0"}, False),
    ],
)
def test_private_targets_are_open_to_the_embedded_server_alone(
    variables: dict[str, str], private: bool
) -> None:
    policy = target_policy(load({}, HOME | variables), OPERATOR).of_tenant(OPERATOR)
    assert (policy.wrong_with_url("http://127.0.0.1/") is None) is private


@pytest.mark.parametrize(
    ("variables", "private"),
    [
        ({}, False),
        ({"ROTA_DSN": DSN}, False),
        ({"ROTA_ALLOW_PRIVATE_TARGETS": "1"}, True),
        ({"ROTA_DSN": DSN, "ROTA_ALLOW_PRIVATE_TARGETS": "1"}, True),
        ({"ROTA_ALLOW_PRIVATE_TARGETS": "0"}, False),
    ],
)
def test_other_tenants_have_them_only_by_the_operators_word(
    variables: dict[str, str], private: bool
) -> None:
    policy = target_policy(load({}, HOME | variables), OPERATOR).of_tenant(uuid4())
    assert (policy.wrong_with_url("http://127.0.0.1/") is None) is private
    assert policy.of_tenant(OPERATOR) is policy


def test_lists_ports_and_https_come_from_the_configuration() -> None:
    toml = """
        https_only = true
        allow_targets = ["10.0.0.0/8", "*.intranet.example"]
        deny_targets = "evil.example, 10.0.0.1"
        target_ports = [443, 8443]
    """
    policy = target_policy(load({"dsn": DSN}, HOME, toml), OPERATOR)
    assert policy.wrong_with_url("https://10.0.0.2/") is None
    assert policy.wrong_with_addresses("a.intranet.example", ["192.168.0.1"]) is None
    for url in ("https://10.0.0.1/", "http://10.0.0.2:443/", "https://evil.example/"):
        assert policy.wrong_with_url(url)
    assert policy.wrong_with_url("https://example.com:444/")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allow_targets", "10.0.0.0/40"),
        ("deny_targets", "*.*.example"),
        ("deny_targets", "a b"),
        ("allow_targets", "https://example.com"),
        ("target_ports", "0"),
        ("target_ports", "80,x"),
    ],
)
def test_a_list_that_cannot_be_read_stops_the_start(name: str, value: str) -> None:
    with pytest.raises(Exception, match=f"{name}: expected "):
        load({}, HOME | {f"ROTA_{name.upper()}": value})
