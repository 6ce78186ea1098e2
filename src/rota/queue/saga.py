"""A firing that goes through steps: where it is, and where it goes when a step has ended. Pure.

    forward   0 → 1 → … → last → succeeded
                  ↓ a step dies, or somebody cancels
    back      the compensations of the finished steps, the last first → dead, or cancelled

Every finished step that has a compensation is compensated once, in reverse order, if and only if a
later one has not succeeded. A compensation that dies is recorded, and the others still run. A step
that was under way and did not succeed is not compensated: what it has done, if anything, only its
target knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

End = Literal["dead", "cancelled"]


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a firing has come. Stored as `queue.saga`, once its first step is done."""

    at: int = 0
    """Which step is being run, or compensated."""
    back: bool = False
    base: int = 0
    """How many attempts had been made when this one's turn came."""
    step: str = ""
    """The step's name."""
    results: tuple[Any, ...] = ()
    """What the finished steps have answered, in their order."""
    end: End = "dead"
    """On its way back: how it will end."""
    reason: str | None = None
    """On its way back: why."""
    undone: tuple[int, ...] = ()
    """The steps that were compensated."""
    unmended: dict[str, str] = {}
    """Why compensations failed, by the number of their step."""


@dataclass(frozen=True, slots=True)
class Part:
    """What there is to know of a step here."""

    name: str
    compensates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the step, or of the compensation, that was at its turn."""

    status: Literal["succeeded", "dead", "cancelled"]
    attempts: int
    """Of the whole firing, so far."""
    reason: str | None = None
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """There is nothing left to do."""

    status: Literal["succeeded", "dead", "cancelled"]
    reason: str | None
    last: State
    """How far it had come."""


def advance(state: State, parts: Sequence[Part], outcome: Outcome) -> State | Ended:
    """Where the firing goes on, or how it has ended."""
    if state.back:
        return _down(_compensated(state, outcome), parts, state.at, outcome.attempts)
    if outcome.status == "succeeded":
        return _up(state, parts, outcome)
    failed = msgspec.structs.replace(
        state, back=True, end=outcome.status, reason=outcome.reason, step=parts[state.at].name
    )
    return _down(failed, parts, state.at, outcome.attempts)


def _up(state: State, parts: Sequence[Part], outcome: Outcome) -> State | Ended:
    done = msgspec.structs.replace(state, results=(*state.results, outcome.result))
    following = state.at + 1
    if following == len(parts):
        return Ended(status="succeeded", reason=None, last=done)
    return msgspec.structs.replace(
        done, at=following, base=outcome.attempts, step=parts[following].name
    )


def _compensated(state: State, outcome: Outcome) -> State:
    if outcome.status == "succeeded":
        return msgspec.structs.replace(state, undone=(*state.undone, state.at))
    why = outcome.reason or "failed"
    return msgspec.structs.replace(state, unmended={**state.unmended, str(state.at): why})


def _down(state: State, parts: Sequence[Part], below: int, attempts: int) -> State | Ended:
    """To the last finished step before `below` that has a compensation."""
    for at in range(min(below, len(state.results)) - 1, -1, -1):
        if parts[at].compensates:
            return msgspec.structs.replace(state, at=at, base=attempts, step=parts[at].name)
    return Ended(status=state.end, reason=_reason(state, parts), last=state)


def _reason(state: State, parts: Sequence[Part]) -> str:
    """Which step it was, why, and what was done about those before it."""
    failed = parts[len(state.results)].name
    said = [f"step {failed}: {state.reason or 'failed'}"]
    if state.undone:
        said.append("compensated " + ", ".join(parts[at].name for at in state.undone))
    for at, why in state.unmended.items():
        said.append(f"the compensation of {parts[int(at)].name} failed: {why}")
    if not state.undone and not state.unmended:
        said.append("nothing to compensate")
    return "; ".join(said)


def shown(state: State, parts: Sequence[Part], *, live: bool) -> list[dict[str, str]]:
    """What has become of each step so far, for people."""
    return [
        {"name": part.name, "status": status}
        for part, status in zip(parts, _statuses(state, len(parts), live=live), strict=True)
    ]


def _statuses(state: State, count: int, *, live: bool) -> Iterator[str]:
    done = len(state.results)
    for at in range(count):
        if at in state.undone:
            yield "compensated"
        elif str(at) in state.unmended:
            yield "compensation_failed"
        elif at < done:
            yield "compensating" if live and state.back and at == state.at else "succeeded"
        elif at > done:
            yield "waiting" if live and not state.back else "not_run"
        elif state.back:
            yield "failed" if state.end == "dead" else "cancelled"
        else:
            yield "running"
