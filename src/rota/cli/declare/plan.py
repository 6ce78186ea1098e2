"""What there is to do, decided from what is wanted and what there is. Pure.

The order of neither matters: a plan is sorted by key. Carrying a plan out makes the next one empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rota.cli.declare.problems import Problem
from rota.cli.declare.standing import owners as owners_of
from rota.cli.declare.standing import without_owner
from rota.schedules import names
from rota.schedules.values import same_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.cli.declare.standing import Standing
    from rota.cli.declare.wanted import Wanted

_TIMING = frozenset((*names.TRIGGERS, *names.FRAME))
_by_key = attrgetter("key")


@dataclass(frozen=True, slots=True)
class Change:
    """A schedule to change: each field that differs, as it is and as it should be."""

    wanted: Wanted
    standing: Standing
    fields: Mapping[str, tuple[Any, Any]]

    @property
    def key(self) -> str:
        return self.wanted.key

    @property
    def is_retimed(self) -> bool:
        """Whether its slots are counted anew."""
        return not _TIMING.isdisjoint(self.fields)

    @property
    def moves_slots(self) -> bool:
        """Whether it may fire at other times than before."""
        return self.is_retimed or not self.fields.keys().isdisjoint(("enabled", "calendar"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All there is to do; nothing in it depends on the order in which it is done."""

    creates: tuple[Wanted, ...] = ()
    changes: tuple[Change, ...] = ()
    removals: tuple[Standing, ...] = ()
    unchanged: tuple[Wanted, ...] = ()
    left: tuple[Standing, ...] = ()
    """Owned by the files and no longer in them, and not to be removed."""
    refused: tuple[Problem, ...] = ()
    """What stands in the way; then nothing of the plan may be done."""

    @property
    def calendars(self) -> set[str]:
        """The names of those that what it touches has or will have."""
        wanted = (*self.creates, *(each.wanted for each in self.changes))
        standing = (*self.removals, *(each.standing for each in self.changes))
        named = (each.written.get("calendar") for each in (*wanted, *standing))
        return {name for name in named if name is not None}

    @property
    def size(self) -> int:
        """How many schedules it touches."""
        return len(self.creates) + len(self.changes) + len(self.removals)


def make(
    wanted: Iterable[Wanted],
    standing: Iterable[Standing],
    *,
    owners: Iterable[str],
    prune: bool = False,
    take_over: bool = False,
) -> Plan:
    """The plan. `owners` are those of the files, also of one that has no schedule any more.

    `standing` has at least what is wanted and what the owners own, as far as it is there.
    """
    there = {each.key: each for each in standing}
    creates: list[Wanted] = []
    changes: list[Change] = []
    unchanged: list[Wanted] = []
    for each in sorted(wanted, key=_by_key):
        found = there.pop(each.key, None)
        if found is None:
            creates.append(each)
        elif differing := differences(each, found):
            changes.append(Change(each, found, differing))
        else:
            unchanged.append(each)
    ours = set(owners)
    # What two files own is left to both of them: neither alone may remove it.
    gone = [each for each in there.values() if each.owners and ours.issuperset(each.owners)]
    gone.sort(key=_by_key)
    return Plan(
        creates=tuple(creates),
        changes=tuple(changes),
        removals=tuple(gone) if prune else (),
        unchanged=tuple(unchanged),
        left=() if prune else tuple(gone),
        refused=tuple(_refused(creates, changes, take_over=take_over)),
    )


def differences(wanted: Wanted, standing: Standing) -> dict[str, tuple[Any, Any]]:
    """Every field that differs, as (old, new); None where there is no value."""
    old = standing.written
    new = _with_their_queues(wanted.written, wanted.given, old)
    found = {
        name: (old.get(name), new.get(name))
        for name in (*new, *(name for name in old if name not in new))
        if not same_json(_compared(name, old), _compared(name, new))
    }
    runs = standing.status != "paused"
    # One that has come to its end has nothing to pause.
    ended = standing.status == "completed" and _TIMING.isdisjoint(found)
    if wanted.enabled is not None and wanted.enabled != runs and not ended:
        found["enabled"] = (runs, wanted.enabled)
    return found


def _with_their_queues(
    new: dict[str, Any], given: Mapping[str, Any], old: Mapping[str, Any]
) -> dict[str, Any]:
    """What a file leaves open is as it is: a task without a queue is where its program has it."""
    whole = {**new}
    if given.get("queue") is None and _same_task(new, old):
        whole["queue"] = old["queue"]
    steps = old.get("steps")
    if steps and len(steps) == len(new.get("steps") or ()):
        whole["steps"] = [
            _step_with_queue(each, was) for each, was in zip(new["steps"], steps, strict=True)
        ]
    return whole


def _step_with_queue(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    step = {**new}
    if "queue" not in new and "queue" in old and _same_task(new, old):
        step["queue"] = old["queue"]
    if new.get("compensate") and old.get("compensate"):
        step["compensate"] = _step_with_queue(new["compensate"], old["compensate"])
    return step


def _same_task(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    return new.get("job_type") is not None and new["job_type"] == old.get("job_type")


def _compared(name: str, written: Mapping[str, Any]) -> Any:
    """A field's value; of tags, the owner's wherever among the others it stands."""
    value = written.get(name)
    return [without_owner(value), sorted(owners_of(value))] if name == "tags" and value else value


def _refused(
    creates: Iterable[Wanted], changes: Iterable[Change], *, take_over: bool
) -> Iterable[Problem]:
    for each in creates:
        if each.ended:
            yield Problem(each.place, None, each.ended)
    for change in changes:
        wanted = change.wanted
        if wanted.ended and change.is_retimed:
            yield Problem(wanted.place, None, wanted.ended)
        others = [owner for owner in change.standing.owners if owner != wanted.owner]
        if others and not take_over:
            message = (
                f'it is owned by "{others[0]}", not by "{wanted.owner}": take it out there first, '
                "name that owner here, or give --take-over"
                if wanted.owner
                else f'it is owned by "{others[0]}": name that owner here, or give --take-over'
            )
            yield Problem(wanted.place, None, message)
