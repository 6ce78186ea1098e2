"""Firings that go through steps, as a worker sees them. Pure.

A worker knows nothing of steps: it is handed a claim and a schedule, of whatever kind. So `at_step`
makes of both what they would be if the step were all there is, and `carry_on` makes of what came of
it what comes next: the next step, the compensation of the one before, or the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from rota.queue import result_handoff, saga
from rota.queue.claim import AtStep
from rota.queue.complete import Step
from rota.schedules import definition as definitions
from rota.schedules.schedule import Schedule
from rota.workers.delivery.capture import clean

if TYPE_CHECKING:
    from rota.queue.claim import Claim
    from rota.queue.complete import Settlement
    from rota.schedules.definition import Definition

T = TypeVar("T")

NAME: Final = "steps"
"""Under which name a step's payload tells of the results of those before it."""

LOST: Final = "worker lost"
"""The reason that `queue.rescue` leaves with what it does not let be tried again."""


class _Stored(saga.State, frozen=True, kw_only=True, omit_defaults=True):
    """A state as it is stored: with all it takes to go on, whatever becomes of the schedule."""

    definition: msgspec.Raw = msgspec.Raw()
    steps: tuple[dict[str, str], ...] = ()
    """What has become of each, for people."""


def at_step(claim: Claim, schedule: Schedule | T) -> tuple[Claim, Schedule | T]:
    """The claim and its schedule, of the step whose turn it is; others as they are.

    What has come past its first step goes on as it began, also when its schedule has been changed
    or is no more.
    """
    if claim.saga is not None:
        stored = _decode(claim.saga)
        return _at(claim, _as_begun(claim, schedule, stored), stored)
    if not isinstance(schedule, Schedule) or schedule.definition.steps is None:
        return claim, schedule
    return _at(claim, schedule, saga.State(step=schedule.definition.steps[0].name))


def _as_begun(claim: Claim, schedule: object, stored: _Stored) -> Schedule:
    whole = definitions.decode(bytes(stored.definition).decode())
    if isinstance(schedule, Schedule):
        return replace(schedule, definition=whole)
    return Schedule(
        id=claim.schedule_id,
        tenant_id=claim.tenant_id,
        key=whole.key,
        name=whole.name,
        status="active",
        version=claim.version,
        shard=0,
        anchor_at=claim.scheduled_for,
        definition=whole,
        created_at=claim.scheduled_for,
        updated_at=claim.scheduled_for,
    )


def _at(claim: Claim, schedule: Schedule, state: saga.State) -> tuple[Claim, Schedule]:
    whole = schedule.definition
    assert whole.steps is not None
    step = whole.steps[state.at]
    call = step.compensate if state.back and step.compensate is not None else step
    at = AtStep(name=step.name, compensating=state.back, base=state.base)
    payload = None if call.body is not None else _payload(claim, whole, call.payload, state)
    of_step = whole.of_step(call, compensating=state.back)
    return (
        msgspec.structs.replace(claim, step=at, payload=payload),
        replace(schedule, definition=of_step, whole=whole),
    )


def _payload(claim: Claim, whole: Definition, own: Any, state: saga.State) -> str:
    """The step's own payload, or the one of this run, or the schedule's; with what came before."""
    if own is None:
        own = whole.payload if claim.payload is None else msgspec.json.decode(claim.payload)
    parts = whole.steps or ()
    results = {part.name: result for part, result in zip(parts, state.results, strict=False)}
    return msgspec.json.encode(result_handoff.joined(own, NAME, results)).decode()


def carry_on(settlement: Settlement, schedule: Schedule | None) -> Settlement:
    """What is to become of the firing when this has become of its step; others as they are."""
    claim, whole = settlement.claim, None if schedule is None else schedule.whole
    if whole is None or claim.step is None or whole.steps is None:
        return settlement
    at = Step(name=claim.step.name, compensating=claim.step.compensating)
    status = settlement.status
    if status is None:
        return msgspec.structs.replace(settlement, step=at)
    if status == "skipped" and claim.saga is None:
        return settlement  # taken back before its first step was begun
    if status == "cancelled" and at.compensating and settlement.reason != LOST:
        # Nobody can want that undone things stay half undone.
        return msgspec.structs.replace(
            settlement, status=None, reason=None, retry_at=settlement.finished_at, step=at
        )
    state = _state(claim, whole)
    parts = [saga.Part(each.name, each.compensate is not None) for each in whole.steps]
    following = saga.advance(state, parts, _outcome(settlement))
    if isinstance(following, saga.Ended):
        shown = msgspec.json.encode(saga.shown(following.last, parts, live=False)).decode()
        reason = None if following.reason is None else clean(following.reason)
        return msgspec.structs.replace(
            settlement,
            status=following.status,
            reason=reason,
            result=None if at.compensating else settlement.result,
            step=replace(at, shown=shown),
        )
    return msgspec.structs.replace(
        settlement, status=None, reason=None, step=_moved(at, following, whole, claim, parts)
    )


def _outcome(settlement: Settlement) -> saga.Outcome:
    claim, status = settlement.claim, settlement.status
    # One that was not even begun has used no attempt.
    attempts = claim.attempt if settlement.tried is not None else claim.attempt - 1
    if status == "succeeded":
        result = result_handoff.result(settlement.result)
        return saga.Outcome(status="succeeded", attempts=attempts, result=result)
    lost = status == "dead" or settlement.reason == LOST
    return saga.Outcome(
        status="dead" if lost else "cancelled", attempts=attempts, reason=settlement.reason
    )


def _moved(
    at: Step, state: saga.State, whole: Definition, claim: Claim, parts: list[saga.Part]
) -> Step:
    """Where it goes on: with all that is known of it, in the lane of its next call."""
    assert whole.steps is not None
    step = whole.steps[state.at]
    call = step.compensate if state.back and step.compensate is not None else step
    of_step = whole.of_step(call)
    kept = claim.saga and bytes(_decode(claim.saga).definition)
    stored = _Stored(
        **msgspec.structs.asdict(state),
        definition=msgspec.Raw(kept or definitions.encode(whole).encode()),
        steps=tuple(saga.shown(state, parts, live=True)),
    )
    return replace(
        at,
        state=msgspec.json.encode(stored).decode(),
        lane=of_step.lane,
        host=of_step.host,
    )


def _state(claim: Claim, whole: Definition) -> saga.State:
    if claim.saga is None:
        assert whole.steps is not None
        return saga.State(step=whole.steps[0].name)
    stored = msgspec.structs.asdict(_decode(claim.saga))
    del stored["definition"], stored["steps"]
    return saga.State(**stored)


def _decode(text: str) -> _Stored:
    return msgspec.json.decode(text, type=_Stored)
