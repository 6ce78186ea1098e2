"""Which of several declarations is in force, and what there is to do for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.library.declaration import (
    Declaration,
    Declared,
    InForce,
    Known,
    Standing,
    decide,
    plan,
    read_version,
    task_key,
)


def declared(key: str, **fields: object) -> Declared:
    return Declared(key, {"key": key, **fields}, f"app.py:1, {key}", key.startswith("task:"))


def declaration(*items: Declared, version: int | None = None, prune: bool = False) -> Declaration:
    return Declaration("app", items, version=read_version(version), prune=prune)


ONE = declaration(declared("report", cron_expr="0 9 * * *"))
TWO = declaration(declared("report", cron_expr="0 10 * * *"))


def test_a_fingerprint_is_of_what_is_declared_and_not_of_its_order_or_place() -> None:
    a, b = declared("a", payload={"x": 1, "y": 2}), declared("b")
    again = Declared("a", {"payload": {"y": 2, "x": 1}, "key": "a"}, "elsewhere.py:9, a")
    assert declaration(a, b).fingerprint == declaration(b, again).fingerprint
    assert declaration(a, b).fingerprint != declaration(a).fingerprint
    assert ONE.fingerprint != TWO.fingerprint


@pytest.mark.parametrize(
    ("ours", "standing", "expected"),
    [
        pytest.param(ONE, Standing(), "apply", id="the first one"),
        pytest.param(
            ONE,
            Standing(InForce(ONE.fingerprint), frozenset({ONE.fingerprint}), is_alive=True),
            "apply",
            id="another process of the same build",
        ),
        pytest.param(
            TWO,
            Standing(InForce(ONE.fingerprint), frozenset({ONE.fingerprint}), is_alive=True),
            "apply",
            id="a new build beside the old one",
        ),
        pytest.param(
            ONE,
            Standing(
                InForce(TWO.fingerprint),
                frozenset({ONE.fingerprint, TWO.fingerprint}),
                is_alive=True,
            ),
            "wait",
            id="the old build restarts during the deploy",
        ),
        pytest.param(
            ONE,
            Standing(
                InForce(TWO.fingerprint),
                frozenset({ONE.fingerprint, TWO.fingerprint}),
                is_alive=False,
            ),
            "apply",
            id="a rollback, once the new build is gone",
        ),
    ],
)
def test_the_rule_without_versions(ours: Declaration, standing: Standing, expected: str) -> None:
    assert decide(ours, standing) == expected
    assert decide(ours, standing, force=True) == "apply"


@pytest.mark.parametrize(
    ("version", "current", "seen", "alive", "expected"),
    [
        (8, 7, False, True, "apply"),
        (8, 7, True, True, "apply"),  # a revert in the code, with a higher version
        (6, 7, False, True, "wait"),
        (6, 7, True, True, "wait"),
        (6, 7, False, False, "apply"),
        (7, 7, False, True, "apply"),  # somebody forgot to count up
        (7, 7, True, True, "wait"),
    ],
)
def test_a_version_says_which_is_newer(
    version: int, current: int, *, seen: bool, alive: bool, expected: str
) -> None:
    ours = declaration(declared("report"), version=version)
    fingerprints = {TWO.fingerprint, ours.fingerprint} if seen else {TWO.fingerprint}
    standing = Standing(InForce(TWO.fingerprint, (current,)), frozenset(fingerprints), alive)
    assert decide(ours, standing) == expected


@dataclass
class World:
    """Processes of several builds, and what the database knows of them."""

    builds: list[Declaration]
    current: Declaration | None = None
    seen: set[str] = field(default_factory=set[str])
    alive: list[int] = field(default_factory=list[int])
    reasons: list[str] = field(default_factory=list[str])
    """Why each change of what is in force was right."""

    def look(self, build: int) -> None:
        ours, current = self.builds[build], self.current
        others = [b for b in self.alive if current and self.builds[b] is current]
        holding = bool(others)
        standing = Standing(
            InForce(current.fingerprint, current.version) if current else None,
            frozenset(self.seen),
            is_alive=holding,
        )
        if decide(ours, standing) == "wait" or (current and current is ours):
            return
        newer = (
            current is not None
            and ours.version is not None
            and current.version is not None
            and ours.version > current.version
        )
        new = ours.fingerprint not in self.seen
        assert current is None or new or newer or not holding, "a change without a reason"
        self.reasons.append("new" if new else "newer" if newer else "alone")
        self.current = ours
        self.seen.add(ours.fingerprint)

    def start(self, build: int) -> None:
        self.look(build)
        self.alive.append(build)

    def end(self, at: int) -> None:
        if self.alive:
            self.alive.pop(at % len(self.alive))

    def settle(self) -> None:
        for build in list(self.alive):
            self.look(build)


_steps = st.lists(
    st.tuples(st.sampled_from(["start", "end", "settle"]), st.integers(0, 3)), max_size=40
)


@given(steps=_steps, versions=st.lists(st.none() | st.integers(1, 3), min_size=4, max_size=4))
def test_builds_side_by_side_never_take_turns(
    steps: list[tuple[str, int]], versions: list[int | None]
) -> None:
    """However processes come and go: who is in force changes for what is new, or when nobody of
    the present one is left; and a build that is left alone comes into force."""
    world = World(
        [
            declaration(declared("report", interval=n + 1), version=version)
            for n, version in enumerate(versions)
        ]
    )
    for verb, number in steps:
        if verb == "start":
            world.start(number)
        elif verb == "end":
            world.end(number)
        else:
            world.settle()
    before = len(world.reasons)
    for _ in range(10):
        world.settle()
    # Nothing comes or goes any more: at most one change for each build, and then none.
    assert len(world.reasons) - before <= len(world.builds)
    settled = world.current
    world.settle()
    assert world.current is settled
    left = {id(world.builds[build]) for build in world.alive}
    if len(left) == 1:
        assert world.current is not None
        assert id(world.current) in left


def test_only_what_the_code_changed_is_written() -> None:
    same, changed, new, deleted = (declared(key) for key in ("same", "changed", "new", "deleted"))
    ours = declaration(same, changed, new, deleted)
    todo = plan(
        ours,
        {
            "same": Known("app", same.fingerprint, exists=True),
            "changed": Known("app", "other", exists=True),
            "deleted": Known("app", deleted.fingerprint, exists=False),
            "gone": Known("app", "x", exists=True),
            task_key("gone"): Known("app", "x", exists=True),
            "gone for good": Known("app", "x", exists=False),
            "somebody's": Known("other", "x", exists=True),
        },
    )
    assert [each.key for each in todo.create] == ["new", "deleted"]
    assert [each.key for each in todo.change] == ["changed"]
    assert todo.left == ("gone",)
    assert not todo.prune
    assert not todo.is_empty


def test_pruning_takes_what_this_app_declared_and_nothing_else() -> None:
    ours = declaration(declared("kept"), prune=True)
    known = {
        "kept": Known("app", declared("kept").fingerprint, exists=True),
        "gone": Known("app", "x", exists=True),
        "other's": Known("other", "x", exists=True),
        "by hand": Known(None, None, exists=True),
        "task:old": Known("app", "x", exists=True),
    }
    assert plan(ours, known).prune == ("gone",)


def test_a_key_is_declared_by_one_app() -> None:
    ours = declaration(declared("report"))
    todo = plan(ours, {"report": Known("billing", "x", exists=True)})
    assert [(each.key, owner) for each, owner in todo.foreign] == [("report", "billing")]
    adopted = plan(ours, {"report": Known(None, None, exists=True)})
    assert [each.key for each in adopted.change] == ["report"]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [(None, None), (7, (7,)), ("1.4.2", (1, 4, 2)), ("v2.0", (2,)), ("2026.11.16", (2026, 11, 16))],
)
def test_a_version_is_numbers_in_order(given_: int | str | None, expected: object) -> None:
    assert read_version(given_) == expected


@pytest.mark.parametrize("given_", ["", "abc123", "1.4-rc1", "1..2", True, -1, "٣"])
def test_a_version_without_an_order_is_refused(given_: int | str) -> None:
    with pytest.raises(ValueError, match="expected a version that has an order"):
        read_version(given_)
