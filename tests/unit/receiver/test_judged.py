"""What Rota makes of a receiver's answers: busy is tried again, stale is final."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.workers import made

from rota.receiver import Begun, answers
from rota.workers.caller import Reply
from rota.workers.outcome import Verdict, judge


def _judged(begun: Begun) -> Verdict:
    answer = answers.of(begun)
    reply = Reply(code=answer.status, headers=answer.headers, body=answer.body)
    definition = made.schedule().definition
    return judge(reply, attempt=1, definition=definition, began_at=made.SLOT, now=made.SLOT)


def test_a_firing_that_is_being_handled_is_tried_again_when_the_receiver_says() -> None:
    verdict = _judged(Begun.BUSY)
    assert verdict.status is None
    assert verdict.delay is not None
    assert verdict.delay >= timedelta(seconds=answers.RETRY_AFTER)


def test_a_duplicate_is_a_success_and_a_stale_fence_the_end() -> None:
    assert _judged(Begun.DUPLICATE).status == "succeeded"
    assert _judged(Begun.STALE).status == "dead"
