"""Which of the slots that have come due are fired, and which are recorded as missed. Pure.

A slot that is late by no more than the grace (what a restart takes) is not missed at all: it is
simply fired. Once a slot is later than that there was an *outage*, and the schedule's policy
decides about everything that came due in it:

- `fire_late` fires the newest slots up to the cap, marked `catch_up`;
- `fire_most_recent` fires the newest one, marked `catch_up`;
- `skip` fires none of those that are later than the grace.

Slots later than the window do not count. What is not fired is always the older part, so it is one
range. Nothing here disarms a schedule: there is always a next slot unless the trigger has none.
The slots are walked backwards from now, so the work is bounded by the cap and not by the outage.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from rota.errors import ContractBroken
from rota.triggers.count import slots_within

if TYPE_CHECKING:
    from rota.schedules.schedule_cache import MisfireRules
    from rota.triggers.trigger import Trigger

_TICK = timedelta(microseconds=1)

Reason = Literal["misfire_policy", "misfire_cap", "misfire_window", "max_firings"]
"""Which of the schedule's settings decided that a slot was not fired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A run of slots that are not fired, both ends included."""

    first: datetime
    last: datetime
    count: int
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of the slots up to now, and the slot after them."""

    fire: tuple[datetime, ...]
    """In their order."""
    catch_up: bool
    missed: Missed | None
    following: datetime | None
    """The next slot; None when the trigger has none left."""


def decide(
    trigger: Trigger,
    *,
    first: datetime,
    now: datetime,
    jitter: timedelta,
    rules: MisfireRules,
    remaining: int | None = None,
) -> Verdict:
    """What becomes of `first`, the oldest slot not decided yet, and of all that are due by `now`.

    A slot is due `jitter` after itself. `first` may lie ahead: it is then fired for its instant.
    It counts as a slot even if the trigger does not name it (the zone's rules have changed since
    the timer was set). `remaining` is how many firings the schedule may still have, at least 1.
    """
    following = checked(first, trigger.next_after(first))
    late = now - first - jitter
    if (following is None or following + jitter > now) and late <= rules.grace:
        return Verdict(fire=(first,), catch_up=False, missed=None, following=following)
    newest = _newest(trigger, first, now - jitter, following)
    choice = _choice(rules, outage=late > rules.grace)
    most = choice.most if remaining is None else min(choice.most, remaining)
    fire = _backwards(trigger, newest, first, most=most, since=now - jitter - choice.within)
    missed = None
    if not fire or fire[0] > first:
        last = newest if not fire else _previous(trigger, fire[0], first)
        count = 1 + slots_within(trigger, first, last)
        short = len(fire) == most
        reason = choice.short_of if short else choice.too_old
        if short and most == remaining and most < choice.most:
            reason = "max_firings"
        missed = Missed(first=first, last=last, count=count, reason=reason)
    return Verdict(
        fire=fire,
        catch_up=choice.catch_up and bool(fire),
        missed=missed,
        following=checked(newest, trigger.next_after(newest)),
    )


def checked(slot: datetime, following: datetime | None) -> datetime | None:
    """The following slot, once more proven to follow: one that does not would fire for ever."""
    if following is not None and following <= slot:
        raise ContractBroken(
            f"expected a slot after {slot.isoformat()}, got {following.isoformat()}"
        )
    return following


@dataclass(frozen=True, slots=True)
class _Choice:
    most: int
    """At most so many are fired,"""
    within: timedelta
    """none of them later than this."""
    catch_up: bool
    short_of: Reason
    """Why older ones are not fired when there are more than `most`,"""
    too_old: Reason
    """and why when they are later than `within`."""


def _choice(rules: MisfireRules, *, outage: bool) -> _Choice:
    # However small the cap, a slot that is merely late by a second is not dropped.
    if not outage:
        return _Choice(max(1, rules.cap), rules.grace, False, "misfire_cap", "misfire_cap")
    match rules.policy:
        case "fire_late":
            return _Choice(rules.cap, rules.window, True, "misfire_cap", "misfire_window")
        case "fire_most_recent":
            return _Choice(1, rules.window, True, "misfire_policy", "misfire_window")
        case "skip":
            most = max(1, rules.cap)
            return _Choice(most, rules.grace, False, "misfire_policy", "misfire_policy")


def _newest(
    trigger: Trigger, first: datetime, until: datetime, following: datetime | None
) -> datetime:
    """The last slot up to and including the instant; `first` when there is none after it."""
    if following is None or following > until:
        return first
    return max(following, trigger.previous_before(until + _TICK) or following)


def _backwards(
    trigger: Trigger, newest: datetime, first: datetime, *, most: int, since: datetime
) -> tuple[datetime, ...]:
    """Up to `most` slots from the newest back to `first`, none before `since`; in their order."""
    found: list[datetime] = []
    slot: datetime | None = newest
    while slot is not None and slot >= since and len(found) < most:
        found.append(slot)
        slot = None if slot == first else _previous(trigger, slot, first)
    return tuple(reversed(found))


def _previous(trigger: Trigger, slot: datetime, first: datetime) -> datetime:
    """The slot before, but never one before `first`."""
    before = trigger.previous_before(slot)
    if before is not None and before >= slot:
        raise ContractBroken(f"expected a slot before {slot.isoformat()}, got {before.isoformat()}")
    return first if before is None else max(first, before)
