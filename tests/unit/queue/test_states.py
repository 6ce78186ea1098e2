"""The state machine, written down once."""

from __future__ import annotations

import re
from pathlib import Path

from rota.queue.states import ENDED, LIVE, TRANSITIONS

_ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"


def test_the_diagram_in_the_docs_shows_these_transitions() -> None:
    page = _ARCHITECTURE.read_text("utf-8")
    diagram = page.partition("## The life of a firing")[2].partition("```mermaid")[2]
    arrows = re.findall(r"^ +(\w+) --> (\w+)", diagram.partition("```")[0], re.MULTILINE)
    drawn = {state: frozenset(to for at, to in arrows if at == state) for state in TRANSITIONS}
    assert drawn == TRANSITIONS


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
