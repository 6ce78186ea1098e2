"""What becomes of a firing after an attempt: as the worker's own rules have it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from rota import durations
from rota.queue import result_handoff
from rota.queue.complete import AttemptRecord, Settlement
from rota.testing.records import Run
from rota.workers import sagas
from rota.workers.caller import Reply
from rota.workers.outcome import judge
from rota.workers.tasks import results
from rota.workers.tasks.values import Unfit

if TYPE_CHECKING:
    from datetime import datetime

    from rota.testing.calling import Begun
    from rota.testing.firing import Firing


@dataclass(frozen=True, slots=True)
class Settled:
    """What an attempt means: for the engine, and for the test."""

    settlement: Settlement
    run: Run | None
    """None when no attempt was made."""


def settled(begun: Begun) -> Settled:
    """Of an attempt whose function has been called: one that takes too long has timed out."""
    definition, claim = begun.schedule.definition, begun.claim
    reply, takes = begun.reply, begun.takes
    assert reply is not None
    if takes > definition.timeout:
        late = f"timed out after {durations.compact(definition.timeout)}"
        reply, takes = Reply(error=late, timed_out=True), definition.timeout
    finished_at = begun.started_at + takes
    verdict = judge(
        reply,
        attempt=claim.tries,
        definition=definition,
        began_at=claim.began_at,
        now=finished_at,
    )
    settlement = Settlement(
        claim=claim,
        started_at=begun.started_at,
        finished_at=finished_at,
        status=verdict.status,
        reason=verdict.reason,
        retry_at=None if verdict.delay is None else finished_at + verdict.delay,
        gone=verdict.gone,
        tried=AttemptRecord(
            outcome=verdict.outcome, error=reply.error, response_body=reply.body or None
        ),
        result=reply.body if len(reply.body) <= result_handoff.MAX_RESULT else None,
    )
    settlement = sagas.carry_on(settlement, begun.schedule)
    return Settled(settlement, _run(begun, settlement, reply, verdict.outcome))


def cancelled(firing: Firing, reason: str, now: datetime) -> Settled | None:
    """Of one that is to end now; None when it is being undone, which nobody can want half done.

    A run that is under way has been called: its attempt is recorded as cancelled.
    """
    claim, schedule = sagas.at_step(firing.claim(now), firing.entry.schedule)
    if claim.step is not None and claim.step.compensating:
        return None
    run = firing.pending and firing.pending.run
    settlement = Settlement(
        claim=claim,
        started_at=run and run.started_at,
        finished_at=now,
        status="cancelled",
        reason=reason,
        tried=run and AttemptRecord(outcome="cancelled", error=reason),
    )
    settlement = sagas.carry_on(settlement, schedule)
    if run is not None:
        run = replace(
            run,
            finished_at=now,
            outcome="cancelled",
            status=status_of(settlement),
            result=None,
            error=reason,
            reason=settlement.reason,
        )
    return Settled(settlement, run)


def _run(begun: Begun, settlement: Settlement, reply: Reply, outcome: str) -> Run:
    claim, definition = begun.claim, begun.schedule.definition
    payload = definition.payload if claim.payload is None else msgspec.json.decode(claim.payload)
    return Run(
        schedule=begun.schedule.key,
        task=definition.job_type,
        scheduled_for=claim.scheduled_for,
        started_at=begun.started_at,
        finished_at=settlement.finished_at,
        attempt=claim.tries,
        outcome=outcome,
        status=status_of(settlement),
        result=_result(begun, reply) if outcome == "succeeded" else None,
        error=reply.error if outcome != "succeeded" else None,
        reason=settlement.reason,
        exception=None if reply.timed_out else begun.exception,
        payload=payload,
        triggered_by=claim.triggered_by,
        is_catch_up=claim.catch_up,
        step=None if claim.step is None else claim.step.suffix,
        firing_id=claim.id,
    )


def status_of(settlement: Settlement) -> str:
    if settlement.status is not None:
        return settlement.status
    return "running" if settlement.retry_at is None else "retrying"


def _result(begun: Begun, reply: Reply) -> Any:
    if begun.spec is not None:
        try:
            return results.read(reply.body, begun.spec.signature.returns)
        except Unfit:
            pass  # not what its annotation says: as JSON has it, then
    return result_handoff.result(reply.body)
