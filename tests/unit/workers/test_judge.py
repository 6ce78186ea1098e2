"""What a reply means (HX7, RT3, RT5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.workers.made import SLOT, schedule

from rota.workers.calls import Reply
from rota.workers.judge import Verdict, judge, retry_after


def verdict(reply: Reply, *, attempt: int = 1, **fields: Any) -> Verdict:
    return judge(reply, attempt=attempt, definition=schedule(**fields).definition, now=SLOT)


@pytest.mark.parametrize("code", [200, 201, 204, 299])
def test_2xx_is_success(code: int) -> None:
    assert verdict(Reply(code=code)) == Verdict(outcome="succeeded", status="succeeded")


def test_a_task_that_returned_is_success() -> None:
    assert verdict(Reply()).status == "succeeded"


@pytest.mark.parametrize("code", [500, 502, 503, 504, 599, 408, 425, 429])
def test_what_may_pass_is_tried_again(code: int) -> None:
    judged = verdict(Reply(code=code))
    assert (judged.status, judged.delay) == (None, timedelta(seconds=5))


@pytest.mark.parametrize("code", [400, 401, 404, 409, 410, 422, 451])
def test_other_4xx_are_final_at_once(code: int) -> None:
    judged = verdict(Reply(code=code))
    assert (judged.status, judged.reason) == ("dead", f"HTTP {code}")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308, 304])
def test_a_redirect_is_a_failure(code: int) -> None:
    judged = verdict(Reply(code=code))
    assert (judged.status, judged.reason) == (
        "dead",
        f"HTTP {code}: redirects are not followed",
    )


def test_no_answer_is_tried_again_and_dead_after_the_last_attempt() -> None:
    silent = Reply(error="the server closed the connection without an answer")
    delays = [verdict(silent, attempt=n, max_attempts=4).delay for n in range(1, 4)]
    assert delays == [timedelta(seconds=s) for s in (5, 10, 20)]
    last = verdict(silent, attempt=4, max_attempts=4)
    assert (last.status, last.outcome) == ("dead", "failed")
    assert last.reason == "the server closed the connection without an answer, after 4 attempts"


def test_a_timeout_is_named_as_one() -> None:
    late = Reply(error="timed out after 30 s", timed_out=True)
    assert verdict(late).outcome == "timed_out"
    only = verdict(late, max_attempts=1)
    assert only.reason == "timed out after 30 s, after 1 attempt"


def test_a_success_whose_body_broke_off_is_tried_again() -> None:
    judged = verdict(Reply(code=200, error="ClientPayloadError"))
    assert (judged.status, judged.delay) == (None, timedelta(seconds=5))


def test_what_is_delivered_at_most_once_is_not_tried_again() -> None:
    """DS1: an attempt that failed may still have arrived."""
    judged = verdict(Reply(code=503), delivery="at_most_once")
    assert (judged.status, judged.reason) == ("dead", "HTTP 503, delivered at most once")


def test_waits_have_the_schedules_shape_and_limit() -> None:
    limit = timedelta(seconds=8)
    judged = verdict(Reply(code=500), attempt=2, backoff="exponential", backoff_max=limit)
    assert judged.delay == limit
    assert verdict(Reply(code=500), attempt=2, backoff="fixed").delay == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("0", 0),
        ("Mon, 09 Mar 2026 13:01:00 GMT", 60),
        ("Mon, 09 Mar 2026 12:00:00 GMT", 0),
        ("999999999999", 86_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
        ("-5", 0),
        ("soon", 0),
        ("", 0),
        ("١٢", 0),
    ],
)
def test_retry_after_is_honoured_and_bounded(value: str, seconds: int) -> None:
    """I15."""
    reply = Reply(code=503, headers=(("retry-AFTER", value),))
    assert retry_after(reply, SLOT) == timedelta(seconds=seconds)
    assert verdict(reply).delay == max(timedelta(seconds=5), timedelta(seconds=seconds))
