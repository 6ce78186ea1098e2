"""What is kept of an attempt (HX3, HX4)."""

from __future__ import annotations

import pytest

from rota.workers.caller import Reply
from rota.workers.delivery.capture import EXCERPT, clean, excerpt, tried

REPLY = Reply(code=200, headers=(("A", "b"), ("A", "c")), body=b"hello")


def test_everything_is_kept_by_default() -> None:
    kept = tried("succeeded", REPLY, shown="{}", capture="all")
    assert (kept.request, kept.response_body) == ("{}", b"hello")
    assert kept.response_headers == '[["A","b"],["A","c"]]'
    assert excerpt(REPLY, capture="all", ok=True) == "hello"


def test_failures_keeps_the_details_of_failures_only() -> None:
    fine = tried("succeeded", REPLY, shown="{}", capture="failures")
    assert (fine.outcome, fine.request, fine.response_body) == ("succeeded", None, None)
    assert tried("failed", REPLY, shown="{}", capture="failures").request == "{}"
    assert excerpt(REPLY, capture="failures", ok=True) is None
    assert excerpt(REPLY, capture="failures", ok=False) == "hello"


def test_none_keeps_that_it_was_tried_and_how_it_ended() -> None:
    kept = tried("failed", Reply(error="refused"), shown="{}", capture="none")
    assert (kept.outcome, kept.error, kept.request) == ("failed", "refused", None)
    assert excerpt(REPLY, capture="none", ok=False) is None


def test_an_excerpt_is_short_and_whole_characters() -> None:
    long = Reply(code=500, body="ä€😀".encode() * 1_000)
    kept = excerpt(long, capture="all", ok=False)
    assert kept is not None
    assert len(kept) == EXCERPT
    assert "\ufffd" not in kept


@pytest.mark.parametrize("text", ["a\0b", "a\udce9b", "\ud800"])
def test_text_is_made_fit_for_the_database(text: str) -> None:
    fit = clean(text)
    assert "\0" not in fit
    assert fit.encode()
