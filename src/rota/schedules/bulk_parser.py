"""Fast path of `fields.read` for thousands of items of which most are alike. Pure.

What a program creates by the thousand differs in name, key, payload, address and time, and in
little else. What two items share is read once, by `fields.read`; only the rest is read for each.
The result always equals that of `fields.read` (a property test): an item that is unlike the others,
or has anything wrong with it, is read by `fields.read` alone.

Bulk creates at 50,000 a second (bench/api) need it: `fields.read` takes longer than everything else
on their way.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule
from rota.schedules.fields import MAX_DESCRIPTION, MAX_KEY, MAX_NAME, Parsed
from rota.schedules.schedule import NewSchedule, text_array, without_enabled
from rota.schedules.values import Values
from rota.targets import OPEN, TargetPolicy, placeholders
from rota.targets.http import MAX_URL
from rota.triggers.civil import floor_second
from rota.triggers.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rota.schedules.calendars.calendar import Calendars
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

_MAX_CACHED: Final = 2_000
#: What is stored of an item's own fields.
_STORED_OWN: Final = frozenset(("name", "key", "description", "tags", "payload", "target_url"))

_FAIR_SIZE: Final = 10_000
_PLACEHOLDER: Final = placeholders.BEGINNING.encode()

# The part of an address that says whom it calls, and a rest without anything special in it.
_ADDRESS: Final = re.compile(r"(https?://[a-z0-9_.:-]+)((?:[/?#][!-\[\]-~]*)?)", re.ASCII)
_encode = msgspec.json.Encoder().encode


class _Shape:
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


class ParseCache:
    """What earlier items had in common, for later ones under the same rules about targets."""

    def __init__(self) -> None:
        self.frames: dict[object, tuple[Definition, frozenset[str]]] = {}
        """What an item is but for its own fields, by all of its others."""
        self.shapes: dict[object, _Shape] = {}
        self.times: dict[object, Definition | None] = {}
        """A trigger that was read, by how it was written; None for one that is refused."""
        self._crons: tuple[int, dict[object, _Time | None]] = (0, {})

    def crons(self, now: datetime) -> dict[object, _Time | None]:
        """Cron expressions with the next slot after `now`, by how they were written.

        It is the same slot, and there is the same to say about it, throughout a second: that is
        all that a cron expression knows of an instant.
        """
        second = floor_second(now)
        if self._crons[0] != second:
            self._crons = second, {}
        return self._crons[1]

    def keep_small(self) -> None:
        """Clear it when it has grown too large: what is in use is soon cached again."""
        for kept in (self.frames, self.shapes, self.times, self._crons[1]):
            if len(kept) > _MAX_CACHED:
                kept.clear()


class _Time(NamedTuple):
    """A trigger with its next slot."""

    definition: Definition
    trigger: Trigger
    next_slot: datetime
    warnings: tuple[str, ...]


class _Fixed(NamedTuple):
    """What rows have in common that share a frame and a trigger."""

    frame: Definition
    """It and `time` are known by their places, and so must not go before this does."""
    time: _Time
    text: bytes
    """The beginning of what is stored: all but their own fields."""
    paused: bool
    window: timedelta


class BulkParser:
    """Reads items as `fields.read` does, all with the same "now" and under the same rules."""

    def __init__(
        self,
        *,
        now: datetime,
        min_interval: timedelta,
        targets: TargetPolicy = OPEN,
        calendars: Calendars | None = None,
        cache: ParseCache | None = None,
    ) -> None:
        self._rules: dict[str, Any] = {
            "now": now,
            "min_interval": min_interval,
            "targets": targets,
            "calendars": calendars,
        }
        self._now = now
        self._cache = cache or ParseCache()
        self._cache.keep_small()
        self._crons = self._cache.crons(now)
        self._times: dict[object, _Time | None] = {}
        self._tags: dict[bytes, tuple[str, ...]] = {}
        self._fixed: dict[tuple[int, int], _Fixed] = {}
        self.payload_bytes = 0
        """Of all payloads so far: what takes the time where items are large."""

    def parse(self, given: Mapping[str, object]) -> Parsed | InvalidSchedule:
        """The definition that the fields describe, or all that is wrong with them."""
        fast = self._fast(given)
        if fast is not None:
            return fast
        try:
            return fields.read(given, **self._rules)
        except InvalidSchedule as problem:
            return problem

    def parse_new(self, given: Mapping[str, object]) -> NewSchedule | InvalidSchedule:
        """What is to be stored, with all that was parsed; or all that is wrong with it."""
        read = self.parse(given)
        return read if isinstance(read, InvalidSchedule) else NewSchedule.of(read)

    def parse_row(self, given: Mapping[str, object]) -> NewSchedule | InvalidSchedule:
        """What is to be stored, without a `Definition` where none is needed; or what is wrong."""
        return self._fast_row(given) or self.parse_new(given)

    def _fast_row(self, given: Mapping[str, object]) -> NewSchedule | None:
        """The same for an item that is like one before it, and right; None for any other."""
        frame_key = self._frame_key(given)
        frame = self._cache.frames.get(frame_key) if frame_key is not None else None
        time = self._time(given) if frame else None
        if frame is None or time is None:
            return None
        own = self._own(given, {})
        if own is None:
            return None
        definition, _ = frame
        fixed = self._fixed.get((id(definition), id(time)))
        if fixed is None:
            fixed = self._fix(definition, time)
        tags = own.get("tags")
        return NewSchedule(
            own["key"],
            own["name"],
            (fixed.text + _encode(own)[1:]).decode(),
            "{}" if tags is None else text_array(tags),
            fixed.paused,
            time.next_slot,
            fixed.window,
            time.warnings,
            definition,
        )

    def _fix(self, frame: Definition, time: _Time) -> _Fixed:
        times = time.definition
        whole = msgspec.structs.replace(
            without_enabled(frame),
            cron_expr=times.cron_expr,
            interval=times.interval,
            timezone=times.timezone,
        )
        rest = {
            name: value
            for name, value in msgspec.json.decode(_encode(whole)).items()
            if name not in _STORED_OWN
        }
        text = _encode(rest)[:-1] + (b"," if rest else b"")
        fixed = _Fixed(frame, time, text, not frame.enabled, frame.spread_window)
        self._fixed[id(frame), id(time)] = fixed
        return fixed

    def _fast(self, given: Mapping[str, object]) -> Parsed | None:
        """The same for an item that is like one before it, and right; None for any other."""
        frame_key = self._frame_key(given)
        if frame_key is None:
            return None
        frame = self._cache.frames.get(frame_key)
        if frame is None:
            return self._keep(frame_key, given)
        time = self._time(given)
        if time is None:
            return None
        times = time.definition
        found = {
            "cron_expr": times.cron_expr,
            "interval": times.interval,
            "timezone": times.timezone,
        }
        own = self._own(given, found)
        if own is None:
            return None
        definition, names = frame
        return Parsed(
            definition=msgspec.structs.replace(definition, **own),
            trigger=time.trigger,
            next_slot=time.next_slot,
            warnings=time.warnings,
            given=names,
        )

    def _frame_key(self, given: Mapping[str, object]) -> object | None:
        """The same for items that differ in nothing but the values of their own fields."""
        # 1 and true are the same to a dictionary: hence the types. The order of the fields may
        # differ; then it is another shape, which is no harm.
        look = (*given, *map(type, given.values()))
        shape = self._cache.shapes.get(look)
        if shape is None:
            shape = self._cache.shapes[look] = _shape_of(given)
        if not shape.is_plain:
            return None
        rest: object = tuple([given[name] for name in shape.rest])
        if not shape.is_flat:
            rest = _encode(rest)
        if not shape.has_address:
            return (shape, rest)
        whom = _whom(given["target_url"])
        return None if whom is None else (shape, rest, whom)

    def _keep(self, frame_key: object, given: Mapping[str, object]) -> Parsed | None:
        try:
            parsed = fields.read(given, **self._rules)
        except InvalidSchedule:
            return None
        # What is large of it is its own, and need not be kept.
        frame = msgspec.structs.replace(parsed.definition, payload=None, description="", tags=())
        self._cache.frames[frame_key] = frame, parsed.given
        return parsed

    def _time(self, given: Mapping[str, object]) -> _Time | None:
        cron, every, zone = given.get("cron_expr"), given.get("interval"), given.get("timezone")
        # 1 and true are the same to a dictionary.
        key = (cron, every, zone, type(cron), type(every), type(zone), self._rules["min_interval"])
        times = self._times if cron is None else self._crons
        try:
            return times[key]
        except TypeError:  # a list, or an object
            return None
        except KeyError:
            found = times[key] = self._at_work(key)
            return found

    def _at_work(self, key: tuple[object, ...]) -> _Time | None:
        definition = self._definition(key)
        if definition is None:
            return None
        trigger = definition.trigger(self._now)
        slot = trigger.next_after(self._now)
        if slot is None:
            return None
        return _Time(definition, trigger, slot, tuple(warnings(trigger, after=self._now)))

    def _definition(self, key: tuple[object, ...]) -> Definition | None:
        """The trigger, if it is one and its slots are as far apart as they must be today."""
        times = self._cache.times
        known = (*key, self._now.date())
        # Others read in other threads: what was there may be forgotten a moment later.
        with contextlib.suppress(KeyError):
            return times[known]
        cron, every, zone = key[:3]
        sample = {"name": "x", "key": "x", "job_type": "x"}
        written = {"cron_expr": cron, "interval": every, "timezone": zone}
        found = None
        with contextlib.suppress(InvalidSchedule):
            found = fields.read(sample | written, **self._rules).definition
        times[known] = found
        return found

    def _own(self, given: Mapping[str, object], own: dict[str, Any]) -> dict[str, Any] | None:
        """Add an item's own fields; None when there is anything to be said about one of them."""
        name, key = given.get("name"), given.get("key")
        if type(key) is not str or len(key) > MAX_KEY or not key.isprintable():
            return None
        if name is None:
            name = key
        if type(name) is not str or len(name) > MAX_NAME or not name.isprintable():
            return None
        name, key = name.strip(), key.strip()
        if not name or not key:
            return None
        own["name"], own["key"] = name, key
        payload = given.get("payload")
        if payload is not None:
            written = _written(payload)
            if written is None:
                return None
            self.payload_bytes += len(written)
            if _is_special(written):
                return None
            own["payload"] = payload
        if (url := given.get("target_url")) is not None:
            own["target_url"] = url
        return own if self._texts(given, own) else None

    def _texts(self, given: Mapping[str, object], own: dict[str, Any]) -> bool:
        """Put description and tags among an item's own; whether they are as they should be."""
        tags, description = given.get("tags"), given.get("description")
        if tags is not None:
            key = _encode(tags)
            found = self._tags.get(key)
            if found is None:
                values = Values(given)
                found = self._tags[key] = values.tags("tags")
                if values.problems:
                    del self._tags[key]
                    return False
            if found:  # No tags is the default, and defaults are not stored.
                own["tags"] = found
        if description is not None:
            values = Values(given)
            text = values.text("description", most=MAX_DESCRIPTION, default="", lines=True)
            if text:
                own["description"] = text
            return not values.problems
        return True


def _whom(url: object) -> str | None:
    """Whom an address calls; None when there is more to look at than that."""
    if type(url) is not str or len(url) > MAX_URL or placeholders.BEGINNING in url:
        return None
    parts = _ADDRESS.fullmatch(url)
    return None if parts is None else parts[1]


def _written(payload: object) -> bytes | None:
    """A payload as JSON; None when it is none."""
    try:
        return _encode(payload)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _is_special(written: bytes) -> bool:
    """Whether there is more to a payload than that it is JSON of a fair size."""
    return len(written) > _FAIR_SIZE or b"u0000" in written or _PLACEHOLDER in written


def _shape_of(given: Mapping[str, object]) -> _Shape:
    """The shape of an item that none before it had."""
    there = {name for name, value in given.items() if value is not None}
    types = {type(value) for value in given.values()}
    rest = tuple(name for name in given if name not in _OWN)
    return _Shape(
        is_plain=types <= _PLAIN
        and _ENTWINED.isdisjoint(given)
        and not {"cron_expr", "interval"} <= there,
        rest=rest,
        is_flat=_DEEP.isdisjoint(type(given[name]) for name in rest),
        has_address="target_url" in there,
    )
