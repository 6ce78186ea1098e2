"""What exceptions and results become."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.unit.workers.tasks.support import NOW

from rota.schedules.definition import Definition
from rota.workers.delivery import capture
from rota.workers.outcome import judge
from rota.workers.tasks import failures, results
from rota.workers.tasks.exceptions import Discard, Retry, length
from rota.workers.tasks.values import Kind, Unfit

if TYPE_CHECKING:
    from rota.workers.caller import Reply


def verdict(reply: Reply, *, attempt: int = 1, **fields: Any) -> Any:
    definition = Definition(name="t", key="t", job_type="t", **fields)
    return judge(reply, attempt=attempt, definition=definition, began_at=NOW, now=NOW)


def test_a_failure_has_a_line_and_a_traceback() -> None:
    def fail(secret: str) -> None:
        raise ValueError(f"no such\nteam {len(secret)}")

    secret = "hunter".join("22")
    with pytest.raises(ValueError, match="no such") as caught:
        fail(secret)
    reply = failures.reply_to(caught.value)
    assert reply.error == "ValueError: no such team 8"
    text = reply.body.decode()
    assert text.startswith("Traceback (most recent call last):")
    assert "in fail" in text
    assert "hunter" not in text, "no values of variables"
    assert capture.excerpt(reply, capture="all", ok=False) == reply.error


def test_a_deep_traceback_keeps_its_last_frames() -> None:
    def dive(depth: int) -> None:
        if depth == 0:
            raise RuntimeError("bottom")
        dive(depth - 1)

    with pytest.raises(RuntimeError) as caught:
        dive(200)
    text = failures.traceback_of(caught.value)
    assert text.count("in dive") <= failures.MAX_FRAMES + 1
    assert "bottom" in text
    assert len(text) < failures.MAX_TRACEBACK


def test_an_exception_without_words_is_still_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even that")

    reply = failures.reply_to(Mute())
    assert "Mute: <it has no text>" in (reply.error or "")
    assert reply.body


def test_retry_is_tried_again_after_its_own_delay() -> None:
    """Issue 6: Retry(after=…) counts as an attempt."""
    reply = failures.reply_to(Retry("busy", after="90s"))
    assert verdict(reply).delay == timedelta(seconds=90)
    assert verdict(reply).outcome == "failed"
    assert verdict(reply, attempt=3).status == "dead"
    assert verdict(reply, attempt=3).reason == "Retry: busy, after 3 attempts"
    assert verdict(reply, retry_window=timedelta(minutes=1)).delay == timedelta(minutes=1)
    plain = verdict(failures.reply_to(Retry()), backoff_delay=timedelta(seconds=7))
    assert plain.delay == timedelta(seconds=7)


def test_discard_ends_it_without_an_alarm() -> None:
    found = verdict(failures.reply_to(Discard("nobody wants it")))
    assert (found.status, found.reason) == ("cancelled", "nobody wants it")
    assert found.outcome == "cancelled"


@pytest.mark.parametrize("value", [None, 1, "a", [1, {"b": None}], {"x": 1.5}])
def test_a_result_comes_back(value: Any) -> None:
    reply = results.reply_with(value)
    assert reply.error is None
    assert results.read(reply.body, Kind.of(Any)) == value


def test_a_result_is_of_the_type_that_is_annotated() -> None:
    class Made(msgspec.Struct):
        n: int

    assert results.read(results.reply_with(Made(3)).body, Kind.of(Made)) == Made(3)
    with pytest.raises(Unfit):
        results.read(b'"x"', Kind.of(Made))


def test_a_result_that_cannot_be_kept_is_a_failure_that_no_attempt_mends() -> None:
    for value in (object(), "x" * (results.MAX_RESULT + 1)):
        reply = results.reply_with(value)
        assert reply.permanent
        assert (reply.error or "").startswith("The task returned, but its result")


@pytest.mark.parametrize(
    ("given", "seconds"), [("10m", 600), (1.5, 1.5), (timedelta(hours=1), 3600)]
)
def test_a_length_is_given_in_three_ways(given: Any, seconds: float) -> None:
    assert length(given).total_seconds() == seconds


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        length(-1)
