"""What a program declares, and whether it is its turn: pure.

A declaration is the whole of a program's schedules and tasks, with one fingerprint. Of several
builds that are alive at once, as in a rolling deploy, one is in force. `decide` is the rule for a
build that starts, or looks again: what is new comes into force at once, and what was there before
waits until nobody who runs the present one is alive. So each change needs either something new or
somebody's end, and two builds that live side by side never take turns.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Version = tuple[int, ...]

_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True)
class Declared:
    """One schedule as code has it."""

    key: str
    fields: Mapping[str, Any]
    """As the API takes them."""
    where: str = field(default="", compare=False)
    """The function it stands on, for messages."""
    is_task: bool = False
    """A task's own schedule, which fires only when somebody enqueues."""

    @cached_property
    def fingerprint(self) -> str:
        return _digest(_encoder.encode(self.fields))


@dataclass(frozen=True)
class Declaration:
    """All that one program declares."""

    app: str
    items: Sequence[Declared]
    version: Version | None = None
    prune: bool = False
    queues: Mapping[str, str] = field(default_factory=dict[str, str])
    """The queue of each task."""

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same schedules, in whatever order they were met."""
        return _digest(_encoder.encode({each.key: each.fingerprint for each in self.items}))


@dataclass(frozen=True, slots=True)
class InForce:
    """The declaration that was applied last."""

    fingerprint: str
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How the database stands to an app's declarations."""

    in_force: InForce | None = None
    seen: frozenset[str] = frozenset()
    """The fingerprints of all that were ever applied."""
    is_alive: bool = False
    """Whether another node that runs the one in force is there."""


Decision = Literal["apply", "wait"]


def decide(ours: Declaration, standing: Standing, *, force: bool = False) -> Decision:
    """Whether our declaration comes into force, or waits for the end of those who run another."""
    current = standing.in_force
    if force or current is None or current.fingerprint == ours.fingerprint:
        return "apply"
    if not standing.is_alive:
        return "apply"
    if ours.version is not None and current.version is not None and ours.version != current.version:
        return "apply" if ours.version > current.version else "wait"
    return "wait" if ours.fingerprint in standing.seen else "apply"


@dataclass(frozen=True, slots=True)
class Known:
    """What the database has of a key."""

    app: str | None
    """Who declared it; None when nobody did."""
    fingerprint: str | None
    exists: bool
    """Whether there is a schedule of this key."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in the order of the code."""

    create: tuple[Declared, ...] = ()
    change: tuple[Declared, ...] = ()
    prune: tuple[str, ...] = ()
    """The keys of schedules that the code no longer has, to be deleted."""
    left: tuple[str, ...] = ()
    """The same, to be left alone."""
    foreign: tuple[tuple[Declared, str], ...] = ()
    """What another app has declared, and which."""

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.change or self.prune or self.foreign)


def plan(ours: Declaration, known: Mapping[str, Known]) -> Plan:
    """What makes the database be as the code is, and no more than that.

    A schedule whose code is what it was is left as somebody may have changed it since; one that
    somebody deleted is made again, as the code still has it.
    """
    create: list[Declared] = []
    change: list[Declared] = []
    foreign: list[tuple[Declared, str]] = []
    for item in ours.items:
        found = known.get(item.key)
        if found is None or not found.exists:
            create.append(item)
        elif found.app not in {None, ours.app}:
            foreign.append((item, found.app or ""))
        elif found.fingerprint != item.fingerprint:
            change.append(item)
    keys = {item.key for item in ours.items}
    gone = tuple(
        sorted(
            key
            for key, each in known.items()
            if each.app == ours.app and key not in keys and each.exists and not is_task_key(key)
        )
    )
    return Plan(
        create=tuple(create),
        change=tuple(change),
        prune=gone if ours.prune else (),
        left=() if ours.prune else gone,
        foreign=tuple(foreign),
    )


TASK_PREFIX = "task:"


def task_key(name: str) -> str:
    """The key of a task's own schedule."""
    return f"{TASK_PREFIX}{name}"


def is_task_key(key: str) -> bool:
    """Tasks are not pruned: what waits of them may belong to a build that still runs."""
    return key.startswith(TASK_PREFIX)


def read_version(given: int | str | None) -> Version | None:
    """7, or "1.4.2", part by part; ValueError for anything that has no order."""
    if given is None:
        return None
    text = str(given).removeprefix("v")
    parts = text.split(".")
    if isinstance(given, bool) or not all(
        p.isascii() and p.isdigit() and len(p) < 10 for p in parts
    ):
        raise ValueError(
            f'expected a version that has an order, such as 7 or "1.4.2", got {given!r:.60}'
        )
    numbers = [int(part) for part in parts]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]
