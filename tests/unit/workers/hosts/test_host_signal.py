"""What an attempt says of its host."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.circuits import Heard
from rota.workers.caller import Reply
from rota.workers.hosts.host_signal import LONG_TIMEOUT, add, is_refused, is_shared, sign_of

if TYPE_CHECKING:
    from rota.workers.hosts.host_signal import Sign

NOW = datetime(2026, 3, 9, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reply", "outcome", "sign"),
    [
        (Reply(code=200), "succeeded", "answered"),
        (Reply(code=202), "accepted", "answered"),
        (Reply(code=503), "succeeded", "answered"),
        (Reply(code=503), "failed", "failed"),
        (Reply(code=500), "failed", "failed"),
        (Reply(code=429), "failed", "failed"),
        (Reply(code=404), "failed", "answered"),
        (Reply(code=408), "failed", "answered"),
        (Reply(code=302), "failed", "answered"),
        (Reply(error="refused"), "failed", "failed"),
        (Reply(error="timed out", timed_out=True), "timed_out", "failed"),
        (Reply(code=200, error="broke off"), "failed", "failed"),
        (Reply(error="no such secret", permanent=True), "failed", "void"),
        (Reply(error="a private address", sent=False), "failed", "void"),
        (Reply(error="broken off"), "cancelled", "void"),
        (Reply(error="broken off"), "interrupted", "void"),
    ],
)
def test_no_answer_5xx_and_429_are_failures_and_any_other_code_is_an_answer(
    reply: Reply, outcome: str, sign: str
) -> None:
    """HX5."""
    assert sign_of(reply, outcome) == sign


def test_failures_count_from_the_last_answer_on() -> None:
    heard = Heard()
    signs: list[Sign] = ["failed", "failed", "answered", "failed", "void"]
    for sign in signs:
        add(heard, sign, Reply(code=503), is_probe=False, now=NOW)
    assert (heard.answered, heard.failures, heard.probe) == (True, 1, None)
    assert heard.error == "HTTP 503"


def test_the_longest_wait_that_was_asked_for_is_kept() -> None:
    heard = Heard()
    for seconds in ("5", "60", "7"):
        reply = Reply(code=429, headers=(("Retry-After", seconds),))
        add(heard, "failed", reply, is_probe=False, now=NOW)
    assert heard.retry_after == timedelta(seconds=60)


SIGNS: list[Sign] = ["answered", "failed", "void"]


@given(st.lists(st.tuples(st.sampled_from(SIGNS), st.booleans())))
def test_the_count_is_that_of_the_failures_at_the_end(heard_: list[tuple[Sign, bool]]) -> None:
    heard = Heard()
    for sign, is_probe in heard_:
        add(heard, sign, Reply(error="x"), is_probe=is_probe, now=NOW)
    signs = [sign for sign, _ in heard_ if sign != "void"]
    trailing = len(signs) - 1 - max((n for n, s in enumerate(signs) if s == "answered"), default=-1)
    assert heard.failures == trailing
    assert heard.answered == ("answered" in signs)
    assert heard.probe == next((sign for sign, is_probe in heard_[::-1] if is_probe), None)


@pytest.mark.parametrize(
    ("reply", "timeout", "shared"),
    [
        (Reply(code=503), 0.1, True),
        (Reply(code=429), 0.1, True),
        (Reply(error="reset"), 0.1, True),
        (Reply(error="timed out", timed_out=True), 0.1, False),
        (Reply(error="timed out", timed_out=True), 9.9, False),
        (Reply(error="timed out", timed_out=True), 10, True),
    ],
)
def test_others_may_see_a_failure_unless_it_is_a_timeout_that_was_chosen_short(
    reply: Reply, timeout: float, *, shared: bool
) -> None:
    assert timedelta(seconds=10) == LONG_TIMEOUT
    assert is_shared(reply, timedelta(seconds=timeout)) == shared


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("x.example:8443", True),
        ("127.0.0.1:80", True),
        ("[::1]:81", True),
        ("x.example", False),
        ("[::1]", False),
    ],
)
def test_a_refusal_concerns_all_where_the_host_names_the_port(host: str, *, refused: bool) -> None:
    assert is_refused(Reply(error="refused", refused=True), host) == refused
    assert not is_refused(Reply(error="reset"), host)
