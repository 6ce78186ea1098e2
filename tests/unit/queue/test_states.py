"""The state machine, written down once."""

from __future__ import annotations

from rota.queue.states import ENDED, LIVE, TRANSITIONS


def test_every_state_is_in_the_mapping_and_nothing_else() -> None:
    assert set(TRANSITIONS) == {*LIVE, *ENDED}
    assert set().union(*TRANSITIONS.values()) <= set(TRANSITIONS)


def test_an_end_is_an_end() -> None:
    assert all(not TRANSITIONS[status] for status in ENDED)


def test_only_what_a_worker_has_can_succeed_or_die() -> None:
    for outcome in ("succeeded", "dead"):
        assert [state for state in LIVE if outcome in TRANSITIONS[state]] == ["running"]


def test_every_live_state_can_come_to_an_end() -> None:
    for state in LIVE:
        reached, todo = set[str](), [state]
        while todo:
            for following in TRANSITIONS[todo.pop()] - reached:
                reached.add(following)
                todo.append(following)
        assert reached & set(ENDED)
