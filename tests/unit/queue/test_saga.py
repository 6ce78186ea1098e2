"""The state machine of firings that go through steps (DS10)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.saga import Ended, Outcome, Part, State, advance, shown

Status = Literal["succeeded", "dead", "cancelled"]
TRIP = [Part("flight", True), Part("hotel", True), Part("car", False), Part("mail", True)]


def run(parts: list[Part], statuses: list[Status]) -> tuple[list[tuple[str, bool]], Ended]:
    """What is called, in order, as (step, whether compensating), and how it ends."""
    state, calls = State(step=parts[0].name), list[tuple[str, bool]]()
    for attempts, status in enumerate(statuses, 1):
        calls.append((parts[state.at].name, state.back))
        outcome = Outcome(status=status, attempts=attempts, reason="HTTP 500", result=attempts)
        following = advance(state, parts, outcome)
        if isinstance(following, Ended):
            return calls, following
        assert following.base == attempts
        assert following.step == parts[following.at].name
        # What is stored is what is read.
        state = msgspec.json.decode(msgspec.json.encode(following), type=State)
    raise AssertionError("it did not end")


OK: Status = "succeeded"


@pytest.mark.parametrize(
    ("statuses", "calls", "end", "reason"),
    [
        ([OK] * 4, "flight hotel car mail", "succeeded", None),
        (["dead"], "flight", "dead", "step flight: HTTP 500; nothing to compensate"),
        (
            [OK, "dead", OK],
            "flight hotel -flight",
            "dead",
            "step hotel: HTTP 500; compensated flight",
        ),
        (
            [OK, OK, OK, "dead", OK, OK],
            "flight hotel car mail -hotel -flight",
            "dead",
            "step mail: HTTP 500; compensated hotel, flight",
        ),
        (
            [OK, OK, "cancelled", OK, OK],
            "flight hotel car -hotel -flight",
            "cancelled",
            "step car: HTTP 500; compensated hotel, flight",
        ),
        (
            [OK, OK, "dead", "dead", OK],
            "flight hotel car -hotel -flight",
            "dead",
            "step car: HTTP 500; compensated flight; the compensation of hotel failed: HTTP 500",
        ),
        (
            [OK, "dead", "dead"],
            "flight hotel -flight",
            "dead",
            "step hotel: HTTP 500; the compensation of flight failed: HTTP 500",
        ),
    ],
)
def test_steps_go_forward_and_compensations_back(
    statuses: list[Status], calls: str, end: str, reason: str | None
) -> None:
    made, ended = run(TRIP, statuses)
    assert " ".join(f"-{name}" if back else name for name, back in made) == calls
    assert (ended.status, ended.reason) == (end, reason)


@given(st.data())
def test_finished_steps_are_compensated_once_in_reverse_iff_a_later_one_did_not_succeed(
    data: Any,
) -> None:
    """Never both completed and compensated."""
    flags = data.draw(st.lists(st.booleans(), min_size=1, max_size=8))
    parts = [Part(f"s{n}", flag) for n, flag in enumerate(flags)]
    dies = data.draw(st.integers(0, len(parts)))
    undo = data.draw(st.lists(st.sampled_from([OK, "dead"]), min_size=9, max_size=9))
    how: Status = data.draw(st.sampled_from(["dead", "cancelled"]))
    statuses: list[Status] = [OK] * dies + ([how] if dies < len(parts) else [])
    calls, ended = run(parts, [*statuses, *undo])

    forward = [name for name, back in calls if not back]
    backward = [name for name, back in calls if back]
    assert forward == [part.name for part in parts][: dies + 1]
    expected = [part.name for part in parts[:dies] if part.compensates]
    if dies == len(parts):
        assert (ended.status, backward) == ("succeeded", [])
    else:
        assert (ended.status, backward) == (how, expected[::-1])
        assert set(ended.last.undone).isdisjoint(map(int, ended.last.unmended))
        assert len(ended.last.undone) + len(ended.last.unmended) == len(expected)
    assert len(shown(ended.last, parts, live=False)) == len(parts)


@pytest.mark.parametrize(
    ("state", "live", "statuses"),
    [
        (State(), True, "running waiting waiting waiting"),
        (State(at=1, results=(1,)), True, "succeeded running waiting waiting"),
        (
            State(at=1, results=(1, 2, 3), back=True),
            True,
            "succeeded compensating succeeded failed",
        ),
        (
            State(results=(1, 2), back=True, end="cancelled", undone=(1,), unmended={"0": "x"}),
            False,
            "compensation_failed compensated cancelled not_run",
        ),
        (State(results=(1, 2, 3, 4)), False, "succeeded succeeded succeeded succeeded"),
    ],
)
def test_people_see_what_became_of_each_step(state: State, live: bool, statuses: str) -> None:
    assert " ".join(each["status"] for each in shown(state, TRIP, live=live)) == statuses
