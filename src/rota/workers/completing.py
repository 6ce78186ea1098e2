"""The end of an attempt that its target, or a worker elsewhere, makes by itself. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rota.queue.complete import AttemptRecord, Settlement
from rota.workers.delivery.capture import clean
from rota.workers.outcome import Verdict, judge

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.external_claims import ExternalClaim
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Reply


def completed(held: ExternalClaim, result: str | None, *, now: datetime) -> Settlement:
    """It is done, with this result."""
    verdict = Verdict(outcome="succeeded", status="succeeded")
    return _settlement(held, verdict, None, excerpt=result, now=now)


def failed(
    held: ExternalClaim, schedule: Schedule | None, reply: Reply, *, now: datetime
) -> Settlement:
    """It has failed: judged as any other attempt. Nothing of a deleted schedule is tried again."""
    if schedule is None:
        reply = msgspec.structs.replace(reply, permanent=True)
        verdict = Verdict(outcome=_outcome(reply), status="dead", reason=reply.error)
    else:
        claim = held.claim
        verdict = judge(
            reply,
            attempt=claim.tries,
            definition=schedule.definition,
            began_at=claim.began_at,
            now=now,
        )
    return _settlement(held, verdict, reply.error, excerpt=reply.error, now=now)


def cancelled(held: ExternalClaim, reason: str, *, now: datetime) -> Settlement:
    """Somebody asked for its end."""
    verdict = Verdict(outcome="cancelled", status="cancelled", reason=reason)
    return _settlement(held, verdict, reason, excerpt=None, now=now)


def _settlement(
    held: ExternalClaim, verdict: Verdict, error: str | None, *, excerpt: str | None, now: datetime
) -> Settlement:
    delay = verdict.delay
    return Settlement(
        claim=held.claim,
        started_at=held.started_at or min(held.claim.available_at, now),
        finished_at=now,
        status=verdict.status,
        reason=None if verdict.reason is None else clean(verdict.reason),
        retry_at=None if delay is None else now + delay,
        tried=AttemptRecord(
            outcome=verdict.outcome,
            error=None if error is None else clean(error),
            # Who did it, where a pull worker has said so; of a call, its request is kept already.
            request=None if held.by is None else msgspec.json.encode({"worker": held.by}).decode(),
        ),
        code=held.code,
        excerpt=None if excerpt is None else clean(excerpt),
        result=excerpt.encode() if excerpt and verdict.status == "succeeded" else None,
    )


def _outcome(reply: Reply) -> str:
    return "timed_out" if reply.timed_out else "failed"
