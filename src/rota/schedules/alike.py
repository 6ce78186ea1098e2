"""Reading thousands of items of which most are alike. Pure.

What a program creates by the thousand differs in name, key, payload, address and time, and in
little else. So what two items share is read once, by `fields.read`, and only the rest is read for
each. Nothing is checked here that `fields.read` does not check, nor less: an item that is unlike
the others, or that has anything wrong with it, is read by `fields.read` alone, in its words.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota.schedules import draft as drafts
from rota.schedules import fields
from rota.schedules.alike_kept import Fixed, Memory, Time, shape_of
from rota.schedules.draft import Draft
from rota.schedules.errors import InvalidSchedule
from rota.schedules.fields import MAX_DESCRIPTION, MAX_KEY, MAX_NAME, Parsed
from rota.schedules.values import Values
from rota.targets import OPEN, TargetPolicy, placeholders
from rota.targets.http import MAX_URL
from rota.triggers.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rota.schedules.calendars.calendar import Calendars
    from rota.schedules.definition import Definition

#: What is stored of an item's own fields.
_STORED_OWN: Final = frozenset(("name", "key", "description", "tags", "payload", "target_url"))

_FAIR_SIZE: Final = 10_000
_PLACEHOLDER: Final = placeholders.BEGINNING.encode()

# The part of an address that says whom it calls, and a rest without anything special in it.
_ADDRESS: Final = re.compile(r"(https?://[a-z0-9_.:-]+)((?:[/?#][!-\[\]-~]*)?)", re.ASCII)
_encode = msgspec.json.Encoder().encode


class Reader:
    """Reads items as `fields.read` does, all with the same "now" and under the same rules."""

    def __init__(
        self,
        *,
        now: datetime,
        min_interval: timedelta,
        targets: TargetPolicy = OPEN,
        calendars: Calendars | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._rules: dict[str, Any] = {
            "now": now,
            "min_interval": min_interval,
            "targets": targets,
            "calendars": calendars,
        }
        self._now = now
        self._memory = memory or Memory()
        self._memory.keep_small()
        self._times: dict[object, Time | None] = {}
        self._tags: dict[bytes, tuple[str, ...]] = {}
        self._fixed: dict[tuple[int, int], Fixed] = {}

    def read(self, given: Mapping[str, object]) -> Parsed | InvalidSchedule:
        """The definition that the fields describe, or all that is wrong with them."""
        quick = self._quickly(given)
        if quick is not None:
            return quick
        try:
            return fields.read(given, **self._rules)
        except InvalidSchedule as problem:
            return problem

    def whole(self, given: Mapping[str, object]) -> Draft | InvalidSchedule:
        """What would be stored of it, with all there is to know about it; or what is wrong."""
        read = self.read(given)
        return read if isinstance(read, InvalidSchedule) else drafts.of(read)

    def draft(self, given: Mapping[str, object]) -> Draft | InvalidSchedule:
        """What would be stored of it, or all that is wrong with it."""
        return self._drafted(given) or self.whole(given)

    def _drafted(self, given: Mapping[str, object]) -> Draft | None:
        """The same for an item that is like one before it, and right; None for any other."""
        frame_key = self._frame_key(given)
        frame = self._memory.frames.get(frame_key) if frame_key is not None else None
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
        return Draft(
            own["key"],
            own["name"],
            (fixed.text + _encode(own)[1:]).decode(),
            "{}" if tags is None else drafts.array(tags),
            fixed.paused,
            time.next_slot,
            fixed.window,
            time.warnings,
            definition,
        )

    def _fix(self, frame: Definition, time: Time) -> Fixed:
        times = time.definition
        whole = msgspec.structs.replace(
            drafts.stripped(frame),
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
        fixed = Fixed(frame, time, text, not frame.enabled, frame.spread_window)
        self._fixed[id(frame), id(time)] = fixed
        return fixed

    def _quickly(self, given: Mapping[str, object]) -> Parsed | None:
        """The same for an item that is like one before it, and right; None for any other."""
        frame_key = self._frame_key(given)
        if frame_key is None:
            return None
        frame = self._memory.frames.get(frame_key)
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
        shape = self._memory.shapes.get(look)
        if shape is None:
            shape = self._memory.shapes[look] = shape_of(given)
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
        self._memory.frames[frame_key] = frame, parsed.given
        return parsed

    def _time(self, given: Mapping[str, object]) -> Time | None:
        cron, every, zone = given.get("cron_expr"), given.get("interval"), given.get("timezone")
        # 1 and true are the same to a dictionary.
        key = (cron, every, zone, type(cron), type(every), type(zone))
        try:
            return self._times[key]
        except TypeError:  # a list, or an object
            return None
        except KeyError:
            found = self._times[key] = self._at_work(key)
            return found

    def _at_work(self, key: tuple[object, ...]) -> Time | None:
        definition = self._definition(key)
        if definition is None:
            return None
        trigger = definition.trigger(self._now)
        slot = trigger.next_after(self._now)
        if slot is None:
            return None
        return Time(definition, trigger, slot, tuple(warnings(trigger, after=self._now)))

    def _definition(self, key: tuple[object, ...]) -> Definition | None:
        """The trigger, if it is one and its slots are as far apart as they must be today."""
        times = self._memory.times
        known = (*key, self._rules["min_interval"], self._now.date())
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
            if _is_special(payload):
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
            own["tags"] = found
        if description is not None:
            values = Values(given)
            text = values.text("description", most=MAX_DESCRIPTION, default="", lines=True)
            own["description"] = text
            return not values.problems
        return True


def _whom(url: object) -> str | None:
    """Whom an address calls; None when there is more to look at than that."""
    if type(url) is not str or len(url) > MAX_URL or placeholders.BEGINNING in url:
        return None
    parts = _ADDRESS.fullmatch(url)
    return None if parts is None else parts[1]


def _is_special(payload: object) -> bool:
    """Whether there is more to a payload than that it is JSON of a fair size."""
    try:
        written = _encode(payload)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return True
    return len(written) > _FAIR_SIZE or b"u0000" in written or _PLACEHOLDER in written
