"""The right to begin, as a model: every order in which two workers, the database and the network
can act, explored to the end.

Time goes in seconds. Worker A claims a firing ahead of its instant and may lose its session,
be cut off, frozen, or get slow replies, at any moment and for any time. Worker B looks for claims
to rescue, as `workers.rescuer` does. Whatever happens, the firing is begun once at the most by the
two of them together, or A's attempt was over for B to see.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rota.leases.session import CONFIRMED_FOR
from rota.queue.rescue import GONE_FOR, SILENT_FOR
from rota.workers.right_to_begin import TRUST_MARGIN, may_begin

if TYPE_CHECKING:
    from collections.abc import Iterator

TICK = timedelta(seconds=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
END = 7
"""Ticks that are explored."""
INSTANT = 2
"""Of the firing."""


@dataclass(frozen=True)
class Rules:
    """The times of the protocol, in ticks; and what a broken one would leave out."""

    confirmed_for: int = CONFIRMED_FOR // TICK
    gone_for: int = GONE_FOR // TICK
    # Shorter than in reality, so that the frozen case is reached soon; its order is the same.
    silent_for: int = 2 * (GONE_FOR // TICK)
    visibility: int = 3
    margin: int = TRUST_MARGIN // TICK
    epochs: bool = True
    at_most_once: bool = False


class State(NamedTuple):
    """A tuple: hundreds of thousands are made and compared."""

    now: int = 0
    # Worker A, as it sees itself.
    holds: bool = True
    claim_epoch: int = 1
    epoch: int = 1
    confirmed_until: int = 2
    trusted_until: int = 0
    asked: tuple[int, bool] | None = None
    """When the confirmation under way was asked for, and whether the server has carried it out."""
    reply: bool | None = None
    """What the server said, on its way back: still registered, or not."""
    connected: bool = True
    frozen: bool = False
    cut: bool = False
    # The database.
    owner: str = "A"
    attempt: int = 1
    """How often the firing was claimed, less what was put back unused."""
    lock: bool = True
    """Whether the server sees A's session."""
    confirmed_at: int = 0
    gone_since: int | None = None
    claimed_until: int = 0
    # What happened.
    begun_by_a: int | None = None
    begun_by_b: int | None = None
    dead: bool = False


def first(rules: Rules) -> State:
    until = INSTANT + rules.visibility
    return State(confirmed_until=rules.confirmed_for, trusted_until=until, claimed_until=until)


def at(tick: int) -> datetime:
    return START + tick * TICK


def a_may_begin(state: State, rules: Rules) -> bool:
    return (
        state.holds
        and not state.frozen
        and state.begun_by_a is None
        and state.now >= INSTANT
        and may_begin(
            confirmed=state.now < state.confirmed_until,
            epoch=state.epoch if rules.epochs else 0,
            claim_epoch=state.claim_epoch if rules.epochs else 0,
            trusted_until=at(state.trusted_until - rules.margin) + TRUST_MARGIN,
            now=at(state.now),
        )
    )


def network(state: State) -> Iterator[State]:
    """What may happen to A's connection, and to A."""
    if state.connected:
        yield state._replace(connected=False, asked=None, reply=None, confirmed_until=0)
        yield state._replace(cut=not state.cut)
    yield state._replace(frozen=not state.frozen)
    if state.lock and not state.connected:
        # The server notices the end of the session, now or later.
        yield state._replace(lock=False)


def confirms(state: State, rules: Rules) -> Iterator[State]:
    """A's session: asked for, carried out by the server, heard by A; each at any later time."""
    if not state.frozen and state.connected and state.asked is None:
        yield state._replace(asked=(state.now, False))
    if state.asked is not None and not state.asked[1] and not state.cut:
        kept = state.gone_since is None
        yield state._replace(
            asked=(state.asked[0], True),
            reply=kept,
            confirmed_at=state.now if kept else state.confirmed_at,
        )
    if state.reply is not None and state.asked is not None and not state.frozen and not state.cut:
        heard = state._replace(asked=None, reply=None)
        if state.reply:
            until = state.asked[0] + rules.confirmed_for
            yield heard._replace(confirmed_until=max(until, state.confirmed_until))
        else:
            yield registers(heard, rules)
    if not state.connected and not state.frozen and not state.cut:
        yield registers(state._replace(connected=True, lock=True), rules)


def registers(state: State, rules: Rules) -> State:
    """On a new session, or after A was declared gone. What it had not begun is given back."""
    given_back = state.holds and state.begun_by_a is None and rules.epochs
    owner = None if given_back and state.owner == "A" else state.owner
    return state._replace(
        gone_since=None,
        confirmed_at=state.now,
        epoch=state.epoch + 1,
        confirmed_until=state.now + rules.confirmed_for,
        holds=state.holds and not given_back,
        owner=owner or "nobody",
    )


def rescues(state: State, rules: Rules) -> Iterator[State]:
    """B: notes that A is gone, takes what it may, and begins it at its instant."""
    silent = state.confirmed_at + rules.silent_for - rules.gone_for <= state.now
    if state.gone_since is None and (not state.lock or silent):
        yield state._replace(gone_since=state.now)
    gone = state.gone_since is not None and state.gone_since + rules.gone_for <= state.now
    expired = state.claimed_until < state.now
    if state.owner == "A" and (gone or expired):
        unstarted = gone and state.confirmed_at + rules.confirmed_for < INSTANT
        if rules.at_most_once:
            yield state._replace(owner="nobody", dead=True)
        else:
            attempt = state.attempt - 1 if unstarted else state.attempt
            yield state._replace(owner="nobody", attempt=attempt)
    if state.owner == "nobody" and not state.dead:
        yield state._replace(owner="B", attempt=state.attempt + 1)
    if state.owner == "B" and state.begun_by_b is None and state.now >= INSTANT:
        yield state._replace(begun_by_b=state.now)


def steps(state: State, rules: Rules) -> Iterator[State]:
    if state.now < END:
        yield state._replace(now=state.now + 1)
    if a_may_begin(state, rules):
        yield state._replace(begun_by_a=state.now)
    yield from network(state)
    yield from confirms(state, rules)
    yield from rescues(state, rules)


def wrong(state: State, rules: Rules) -> str | None:
    """What must never be."""
    a, b = state.begun_by_a, state.begun_by_b
    if rules.at_most_once and a is not None and b is not None:
        return "begun twice, though it is delivered at most once"
    if a is not None and b is not None and b <= a:
        return "begun by A after B had begun it"
    if a is not None and b is not None and state.attempt < 2:
        return "B's attempt has the number of A's, which was begun"
    return None


def explore(rules: Rules) -> tuple[int, str | None]:
    """How many states there are, and what is wrong with the first that is."""
    seen = {first(rules)}
    todo = deque(seen)
    while todo:
        state = todo.popleft()
        if (fault := wrong(state, rules)) is not None:
            return len(seen), fault
        for each in steps(state, rules):
            # Everything but the end of time is bounded by it; two epochs are told apart.
            if each.epoch <= 2 and each not in seen:
                seen.add(each)
                todo.append(each)
    return len(seen), None


@pytest.mark.parametrize("at_most_once", [False, True])
def test_no_order_of_events_lets_two_workers_begin_the_same_attempt(at_most_once: bool) -> None:
    count, fault = explore(Rules(at_most_once=at_most_once))
    assert fault is None
    assert count > 10_000


@pytest.mark.parametrize(
    "broken",
    [
        Rules(gone_for=CONFIRMED_FOR // TICK - 1),
        Rules(epochs=False),
        Rules(margin=-2, gone_for=100, silent_for=200, confirmed_for=100),
    ],
    ids=["others do not wait long enough", "claims outlive a registration", "claims run out late"],
)
def test_the_model_finds_what_is_wrong_with_a_broken_protocol(broken: Rules) -> None:
    assert explore(broken)[1] is not None


def test_the_right_to_begin_ends_before_others_may_take_over() -> None:
    assert CONFIRMED_FOR < GONE_FOR < SILENT_FOR
