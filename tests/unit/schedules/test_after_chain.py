"""Who may follow whom: never in a circle, never without an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules.after import MAX_DEPTH
from rota.schedules.after_chain import wrong_with


def chain(count: int) -> dict[str, str]:
    """k1 follows k0, k2 follows k1, and so on: so many followers."""
    return {f"k{n}": f"k{n - 1}" for n in range(1, count + 1)}


@pytest.mark.parametrize(
    ("key", "upstream", "known", "says"),
    [
        ("a", "b", {}, None),
        ("a", "a", {}, "a after a"),
        ("a", "b", {"b": "a"}, "a after b after a"),
        ("a", "b", {"b": "c", "c": "a"}, "a after b after c after a"),
        ("a", "b", {"b": "c", "d": "a", "e": "a"}, None),
        # What it followed before does not count: it follows the other instead.
        ("a", "b", {"a": "c", "c": "a"}, None),
        # A circle elsewhere is none of its.
        ("k49", "k48", chain(48), None),
        ("k50", "k49", chain(49), "at most 50"),
        # In front of a chain counts as much as behind it.
        ("k0", "first", chain(48), None),
        ("k0", "first", chain(49), "at most 50"),
        ("x", "k25", chain(30) | {"y": "x"}, None),
    ],
)
def test_a_circle_and_a_chain_that_is_too_long_are_refused(
    key: str, upstream: str, known: dict[str, str], says: str | None
) -> None:
    wrong = wrong_with(key, upstream, known)
    assert wrong is None if says is None else says in (wrong or "")


_KEYS = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(_KEYS, _KEYS), max_size=30))
def test_whatever_is_asked_for_what_is_stored_has_no_circle(wishes: list[tuple[str, str]]) -> None:
    known: dict[str, str] = {}
    for key, upstream in wishes:
        if wrong_with(key, upstream, known) is None:
            known[key] = upstream
    for key in known:
        seen, at = {key}, key
        while (at := known.get(at, "")) != "":
            assert at not in seen
            seen.add(at)


def test_the_depth_is_reached_however_it_is_built() -> None:
    known = chain(MAX_DEPTH - 1)
    assert len(known) + 1 == MAX_DEPTH
    assert all(wrong_with(key, upstream, known) is None for key, upstream in known.items())
