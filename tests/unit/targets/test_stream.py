"""The address of a stream: what is read from it, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.targets import OPEN, InvalidTarget, StreamTarget, TargetPolicy


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("redis://h/jobs", StreamTarget(host="h", name="jobs")),
        ("redis://H.Example.:6380/jobs", StreamTarget(host="h.example.", port=6380, name="jobs")),
        ("redis://h/2/jobs", StreamTarget(host="h", db=2, name="jobs")),
        ("redis://h/0/2x", StreamTarget(host="h", name="2x")),
        ("rediss://h/a:{b}.c-d_e", StreamTarget(host="h", name="a:{b}.c-d_e", is_tls=True)),
        ("redis://[::1]:1/jobs", StreamTarget(host="::1", port=1, name="jobs")),
        ("redis://127.0.0.1/jobs", StreamTarget(host="127.0.0.1", name="jobs")),
        ("redis://:${secrets.PW}@h/jobs", StreamTarget(host="h", name="jobs", secret="PW")),
        (
            "rediss://ann:${secrets.PW}@h:1/9/jobs",
            StreamTarget(host="h", port=1, db=9, name="jobs", is_tls=True, user="ann", secret="PW"),
        ),
    ],
)
def test_an_address_is_read(text: str, target: StreamTarget) -> None:
    assert StreamTarget.read(text) == target


@pytest.mark.parametrize(
    "text",
    [
        *("", "jobs", "redis:jobs", "http://h/jobs", "unix:///tmp/redis.sock", "REDIS://h/jobs"),
        *("redis://h", "redis://h/", "redis://h/2", "redis://h/2/", "redis://h/a/b/c"),
        *("redis:///jobs", "redis://h:0/jobs", "redis://h:65536/jobs", "redis://h:x/jobs"),
        *("redis://h h/jobs", "redis://h/jo bs", "redis://h/jobs?db=1", "redis://h/jobs#x"),
        *("redis://h/jöbs", "redis://hö/jobs", "redis://h/jobs\r\nSET a b", "redis://h\\@e/jobs"),
        *("redis://[::1/jobs", "redis://[x]/jobs", "redis://[fe80::1%25eth0]/jobs"),
        *("redis://h/${secrets.NAME}", "redis://${secrets.H}/jobs", "redis://h/123456/jobs"),
        f"redis://h/{'x' * 201}",
        f"redis://h/{'x' * 5_000}",
    ],
)
def test_what_is_no_address_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InvalidTarget, match=r"^Invalid stream: expected ") as refused:
        StreamTarget.read(text)
    assert refused.value.field == "stream"


@pytest.mark.parametrize(
    "user_info",
    [
        *("hunter2", ":hunter2", "ann:hunter2", "ann:", ":", "", "ann:hunter2${secrets.PW}"),
        *("ann:${secrets.PW}hunter2", "${secrets.PW}", "a@b:hunter2", "ann:${secrets.1}"),
    ],
)
def test_a_password_in_plain_sight_is_refused_and_not_repeated(user_info: str) -> None:
    """It would be stored and shown with the schedule (S8)."""
    with pytest.raises(InvalidTarget, match="the password as a secret") as refused:
        StreamTarget.read(f"redis://{user_info}@h/jobs")
    assert "hunter2" not in str(refused.value)


def test_a_password_with_an_at_sign_does_not_show_in_another_complaint() -> None:
    with pytest.raises(InvalidTarget) as refused:
        StreamTarget.read("redys://ann:hunter2@h/jobs")
    assert "hunter2" not in str(refused.value)


@given(st.text(max_size=80))
def test_whatever_is_written_is_an_address_or_refused(text: str) -> None:
    for each in (text, f"redis://{text}", f"redis://h/{text}", f"redis://{text}@h/x"):
        try:
            target = StreamTarget.read(each)
        except InvalidTarget:
            continue
        assert re.fullmatch(r"[a-z0-9_.:-]+", target.host)
        assert 1 <= target.port <= 65_535


def test_the_place_always_has_a_port() -> None:
    """So that a Redis shares no circuit with a web server on the same host."""
    assert StreamTarget.read("redis://h/jobs").place == "h:6379"
    assert StreamTarget.read("redis://h.:1/jobs").place == "h:1"
    assert StreamTarget.read("redis://[::1]/jobs").place == "[::1]:6379"


@pytest.mark.parametrize(
    ("text", "policy", "told"),
    [
        ("redis://127.0.0.1/x", TargetPolicy(), "127.0.0.1"),
        ("redis://2130706433/x", TargetPolicy(), "127.0.0.1"),
        ("redis://localhost/x", TargetPolicy(), "this machine"),
        ("redis://h.example/x", TargetPolicy(https_only=True), "expected rediss://"),
        ("redis://h.example/x", TargetPolicy.of(ports=[443]), "the port 6379"),
        ("redis://h.example/x", TargetPolicy.of(deny=["h.example"]), "deny_targets"),
    ],
)
def test_the_operators_policy_is_that_of_urls(text: str, policy: TargetPolicy, told: str) -> None:
    """S1, as far as an address tells."""
    assert told in (StreamTarget.read(text).wrong_by(policy) or "")


def test_what_the_policy_allows_is_allowed() -> None:
    assert StreamTarget.read("redis://localhost/x").wrong_by(OPEN) is None
    strict = TargetPolicy(https_only=True)
    assert StreamTarget.read("rediss://h.example/x").wrong_by(strict) is None
