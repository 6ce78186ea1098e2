"""What a reply means (HX7, RT3, RT5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.workers.made import SLOT, schedule

from rota.schedules.codes import Codes, closeness
from rota.workers.caller import Reply
from rota.workers.outcome import Verdict, judge, retry_after

SECOND = timedelta(seconds=1)


def verdict(
    reply: Reply,
    *,
    attempt: int = 1,
    since: timedelta = timedelta(),
    has_token: bool = True,
    **fields: Any,
) -> Verdict:
    """Of an attempt that has ended, with the first begun so long before."""
    return judge(
        reply,
        attempt=attempt,
        definition=schedule(**fields).definition,
        began_at=SLOT - since,
        now=SLOT,
        has_token=has_token,
    )


@pytest.mark.parametrize("code", [200, 201, 204, 299])
def test_2xx_is_success(code: int) -> None:
    assert verdict(Reply(code=code)) == Verdict(outcome="succeeded", status="succeeded")


def test_a_task_that_returned_is_success() -> None:
    assert verdict(Reply()).status == "succeeded"


@pytest.mark.parametrize("code", [500, 502, 503, 504, 599, 408, 425, 429])
def test_what_may_pass_is_tried_again(code: int) -> None:
    judged = verdict(Reply(code=code))
    assert (judged.status, judged.delay) == (None, timedelta(seconds=5))


@pytest.mark.parametrize("code", [400, 401, 404, 409, 422, 451])
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


@pytest.mark.parametrize(
    ("fields", "code", "expected"),
    [
        ({"success_on": ("2xx", 404)}, 404, "succeeded"),
        ({"success_on": ("2xx", 304)}, 304, "succeeded"),
        ({"success_on": (200,)}, 204, "dead"),
        ({"success_on": ("2xx",), "retry_on": (202,)}, 202, None),
        ({"success_on": ("2xx", 503), "retry_on": ("5xx",)}, 503, "succeeded"),
        ({"success_on": ("2xx", 503), "retry_on": ("5xx",)}, 502, None),
        ({"retry_on": ("4xx",)}, 404, None),
        ({"retry_on": ("4xx",)}, 500, "dead"),
        ({"retry_on": (302,)}, 302, None),
        ({"retry_on": (302,)}, 301, "dead"),
        ({"retry_on": ()}, 503, "dead"),
        ({}, 600, "dead"),
        ({}, 101, "dead"),
    ],
)
def test_the_schedules_lists_decide(
    fields: dict[str, Any], code: int, expected: str | None
) -> None:
    """A code that is named by itself is an exception to its class."""
    assert verdict(Reply(code=code), **fields).status == expected


def test_a_target_that_is_gone_ends_it_and_asks_for_its_schedules_pause() -> None:
    """S13, S18: 410 disables; unless the owner has said what 410 means."""
    judged = verdict(Reply(code=410))
    assert (judged.status, judged.gone) == ("dead", True)
    assert judged.reason == "HTTP 410: the target is gone"
    assert not verdict(Reply(code=410), success_on=("2xx", 410)).gone
    again = verdict(Reply(code=410), retry_on=(410,))
    assert (again.status, again.gone) == (None, False)
    assert not verdict(Reply(code=410), retry_on=(410,), attempt=3).gone


def test_what_cannot_get_better_is_final() -> None:
    judged = verdict(Reply(error="there is no secret TOKEN", permanent=True))
    assert (judged.status, judged.reason) == ("dead", "there is no secret TOKEN")


def test_the_last_attempt_begins_within_the_retry_window() -> None:
    window = timedelta(minutes=10)
    failed = Reply(code=503)
    just = verdict(failed, since=window - 5 * SECOND, retry_window=window)
    assert just.delay == 5 * SECOND
    late = verdict(failed, since=window - 4 * SECOND, retry_window=window)
    assert (late.status, late.delay) == ("dead", None)
    assert late.reason == "HTTP 503, and the retry window of 10m is over"


def test_retry_after_is_bounded_by_the_retry_window() -> None:
    """A target that asks for a day gets one more attempt, at the window's end."""
    asks = Reply(code=429, headers=(("Retry-After", "86400"),))
    window = timedelta(hours=1)
    assert verdict(asks, retry_window=window).delay == window
    since = timedelta(minutes=50)
    assert verdict(asks, since=since, retry_window=window).delay == timedelta(minutes=10)
    assert verdict(asks, since=window, retry_window=window).status == "dead"


def test_a_target_may_take_the_work_on() -> None:
    """202 with Rota-Async: true, and nothing less."""
    taken = Reply(code=202, headers=(("rota-ASYNC", " True "),))
    judged = verdict(taken, async_timeout_seconds=90)
    assert judged == Verdict(outcome="accepted", detach=timedelta(seconds=90))
    for other in (
        Reply(code=202),
        Reply(code=202, headers=(("Rota-Async", "false"),)),
        Reply(code=200, headers=(("Rota-Async", "true"),)),
    ):
        assert verdict(other).status == "succeeded"
    broken = Reply(code=202, headers=(("Rota-Async", "true"),), error="it broke off")
    assert verdict(broken).delay == 5 * SECOND
    assert verdict(taken, has_token=False).status == "dead"


def _codes() -> st.SearchStrategy[Codes]:
    each = st.integers(200, 599) | st.sampled_from(["2xx", "3xx", "4xx", "5xx"])
    return st.lists(each, max_size=6, unique=True).map(tuple)


def _replies() -> st.SearchStrategy[Reply]:
    after = st.none() | st.integers(0, 10**10).map(str) | st.text(max_size=12)
    headers = after.map(lambda text: () if text is None else (("Retry-After", text),))
    return st.builds(
        Reply,
        code=st.none() | st.integers(100, 999),
        error=st.none() | st.just("it broke off"),
        headers=headers,
        permanent=st.booleans(),
    )


@given(
    reply=_replies(),
    attempt=st.integers(1, 30),
    since=st.timedeltas(timedelta(), timedelta(days=40)),
    window=st.timedeltas(timedelta(), timedelta(days=30)),
    success=_codes(),
    again=_codes(),
    delivery=st.sampled_from(["at_least_once", "at_most_once"]),
)
def test_every_verdict_is_whole_and_within_the_limits(
    *,
    reply: Reply,
    attempt: int,
    since: timedelta,
    window: timedelta,
    success: Codes,
    again: Codes,
    delivery: str,
) -> None:
    """It ends or is tried again; never again past the last attempt, the window, or the only one."""
    judged = verdict(
        reply,
        attempt=attempt,
        since=since,
        retry_window=window,
        success_on=success,
        retry_on=again,
        delivery=delivery,
        max_attempts=25,
    )
    assert (judged.status is None) != (judged.delay is None)
    assert (judged.status == "dead") == (judged.reason is not None)
    if judged.delay is not None:
        assert timedelta() <= judged.delay <= window - since
        assert attempt < 25
        assert delivery == "at_least_once"
        assert not reply.permanent
    if judged.status == "succeeded":
        assert reply.error is None
        assert reply.code is None or closeness(success, reply.code) > 0
    assert not judged.gone or reply.code == 410
