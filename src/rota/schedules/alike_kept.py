"""What is kept of items that were read, for those that are like them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rota.schedules.definition import Definition
    from rota.triggers.trigger import Trigger

#: What each item has of its own, and what its slots come from.
_OWN: Final = frozenset(
    ("name", "key", "description", "tags", "payload", "target_url", "cron_expr", "interval")
) | {"timezone"}
#: Slots that depend on more than one of these are worked out together.
_ENTWINED: Final = frozenset(
    ("start_at", "end_at", "max_firings", "calendar", "run_at", "rrule", "text", "after")
) | {"monitor", "on_demand", "body"}
#: What JSON has. A float may be one that JSON has not.
_PLAIN: Final = frozenset((str, int, bool, list, dict, type(None)))
_DEEP: Final = frozenset((list, dict))

_MOST_REMEMBERED: Final = 2_000


class Shape:
    """What items have in common whose fields have the same names and the same types."""

    __slots__ = ("has_address", "is_flat", "is_plain", "rest")

    def __init__(
        self, *, is_plain: bool, rest: tuple[str, ...], is_flat: bool, has_address: bool
    ) -> None:
        self.is_plain = is_plain
        """Whether such items can be like others at all."""
        self.rest = rest
        """The fields that are not their own."""
        self.is_flat = is_flat
        """Whether those have no lists and no objects among them."""
        self.has_address = has_address


class Memory:
    """What earlier items had in common, for later ones under the same rules about targets."""

    def __init__(self) -> None:
        self.frames: dict[object, tuple[Definition, frozenset[str]]] = {}
        """What an item is but for its own fields, by all of its others."""
        self.shapes: dict[object, Shape] = {}
        self.times: dict[object, Definition | None] = {}
        """A trigger that was read, by how it was written; None for one that is refused."""

    def keep_small(self) -> None:
        """Forget all when it is too much: what is still in use is soon known again."""
        for kept in (self.frames, self.shapes, self.times):
            if len(kept) > _MOST_REMEMBERED:
                kept.clear()


class Time(NamedTuple):
    """A trigger at work."""

    definition: Definition
    trigger: Trigger
    next_slot: datetime
    warnings: tuple[str, ...]


class Fixed(NamedTuple):
    """What drafts have in common that share a frame and a trigger."""

    frame: Definition
    """It and `time` are known by their places, and so must not go before this does."""
    time: Time
    text: bytes
    """The beginning of what is stored: all but their own fields."""
    paused: bool
    window: timedelta


def shape_of(given: Mapping[str, object]) -> Shape:
    """The shape of an item that none before it had."""
    there = {name for name, value in given.items() if value is not None}
    types = {type(value) for value in given.values()}
    rest = tuple(name for name in given if name not in _OWN)
    return Shape(
        is_plain=types <= _PLAIN
        and _ENTWINED.isdisjoint(given)
        and not {"cron_expr", "interval"} <= there,
        rest=rest,
        is_flat=_DEEP.isdisjoint(type(given[name]) for name in rest),
        has_address="target_url" in there,
    )
