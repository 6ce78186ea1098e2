"""From entries to what is wanted, checked by the server's own field reader before any request.

Pure: `now` is given. What only the server knows (the tenant's limits, which hosts
may be called) is checked there, when a schedule is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from rota.cli.declare.documents import OWNER_TAG
from rota.cli.declare.problems import InvalidDeclaration, Place, Problem
from rota.schedules import fields, names
from rota.schedules.errors import InvalidSchedule
from rota.schedules.values import MAX_TAGS
from rota.schedules.when import no_future
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rota.cli.declare.documents import Document, Entry, Read
    from rota.schedules.definition import Definition

_IDENTITY = ("name", "key")
_LATER = timedelta(days=32, hours=5, minutes=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A schedule as a file wants it to be."""

    place: Place
    owner: str | None
    given: Mapping[str, Any]
    """What is sent: the fields as written, and the owner's tag."""
    definition: Definition
    ended: str | None = None
    """Why it cannot be made now, when its last slot has passed; it may be there already."""

    @property
    def key(self) -> str:
        return self.definition.key

    @property
    def enabled(self) -> bool | None:
        """Whether it should run; None leaves that as it is."""
        return self.given.get("enabled")

    @property
    def written(self) -> dict[str, Any]:
        """Every field as the server will show it, but whether it runs."""
        written = fields.write(self.definition)
        written.pop("enabled", None)
        return written


def read(files: Read, *, now: datetime) -> list[Wanted]:
    """Everything the files want; `InvalidDeclaration` with all that is wrong with them."""
    problems = dict.fromkeys(files.problems)
    wanted: list[Wanted] = []
    for document in files.documents:
        defaults = _checked_defaults(document, problems)
        for entry in document.entries:
            try:
                wanted.append(_read_one(entry, document.owner, defaults, now))
            except InvalidDeclaration as error:
                found = (_placed(each, entry, document, defaults) for each in error.problems)
                problems.update(dict.fromkeys(found))
    problems.update(dict.fromkeys(_twins(_keys(files, wanted))))
    if problems:
        raise InvalidDeclaration(tuple(problems))
    return wanted


def merged(defaults: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the defaults it leaves open.

    What an entry says takes the place of what it cannot stand beside: its trigger that of the
    defaults, its target theirs with all that belongs to one kind of target alone.
    """
    shut = set(entry)
    for group in (names.TRIGGERS, names.TARGETS, ("payload", "body")):
        if any(entry.get(name) is not None for name in group):
            shut.update(group)
    open_ = {name: value for name, value in defaults.items() if name not in shut}
    whole = {**open_, **entry}
    kind = next((name for name in names.TARGETS if whole.get(name) is not None), None)
    foreign = names.foreign(kind) if kind else {}
    return {name: v for name, v in whole.items() if name in entry or name not in foreign}


def _read_one(
    entry: Entry, owner: str | None, defaults: Mapping[str, Any], now: datetime
) -> Wanted:
    given = merged(defaults, entry.fields)
    wrong = [Problem(entry.place, "tags", each) for each in _wrong_with_tags(given, owner)]
    if owner is not None and not wrong:
        given["tags"] = [*(given.get("tags") or ()), OWNER_TAG + owner]
    try:
        parsed = fields.read(given, now=now, require_future=False)
    except InvalidSchedule as error:
        wrong += [Problem(entry.place, each.field, each.message) for each in error.problems]
        raise InvalidDeclaration(tuple(wrong)) from error
    if given.get("key") is None and given.get("text") is not None:
        wrong += _wrong_with_moving_key(entry.place, given, parsed.definition.key, now)
    if wrong:
        raise InvalidDeclaration(tuple(wrong))
    over = parsed.next_slot is None and is_timed(parsed.trigger)
    ended = no_future(parsed.trigger, now) if over else None
    return Wanted(
        place=entry.place, owner=owner, given=given, definition=parsed.definition, ended=ended
    )


def _wrong_with_tags(given: Mapping[str, Any], owner: str | None) -> Iterable[str]:
    tags = given.get("tags")
    listed = cast("list[object]", tags) if isinstance(tags, list) else []
    if tags is not None and not isinstance(tags, list):
        yield "Invalid tags: expected a list of texts"
    if any(isinstance(each, str) and each.startswith(OWNER_TAG) for each in listed):
        yield f"Invalid tags: expected none that begins with {OWNER_TAG}; `owner` sets it"
    if owner is not None and len(listed) >= MAX_TAGS:
        yield f"Invalid tags: expected at most {MAX_TAGS - 1}, as the owner needs one"


def _wrong_with_moving_key(
    place: Place, given: Mapping[str, Any], key: str, now: datetime
) -> Iterable[Problem]:
    """A key that is derived from "tomorrow" is another one every day."""
    try:
        later = fields.read(given, now=now + _LATER, require_future=False).definition.key
    except InvalidSchedule:
        later = ""
    if later != key:
        text = str(given["text"])[:60]
        message = f'expected a key, since "{text}" is another time whenever it is read'
        yield Problem(place, "key", message)


def _checked_defaults(document: Document, problems: dict[Problem, None]) -> dict[str, Any]:
    """The defaults without what cannot be one, so that it is reported once and not per entry."""
    place = replace(document.place, part="defaults")
    for each in names.unknown(document.defaults):
        problems[Problem(place, each.field, each.message)] = None
    for name in _IDENTITY:
        if name in document.defaults:
            problems[Problem(place, name, f"expected {name} in each entry instead")] = None
    return {
        name: value
        for name, value in document.defaults.items()
        if name in names.FIELDS and name not in _IDENTITY
    }


def _placed(
    problem: Problem, entry: Entry, document: Document, defaults: Mapping[str, Any]
) -> Problem:
    """At the defaults, when that is where the field was written."""
    if problem.field in defaults and problem.field not in entry.fields:
        return replace(problem, place=replace(document.place, part="defaults"))
    return problem


def _keys(files: Read, wanted: Sequence[Wanted]) -> Iterable[tuple[str, Place]]:
    """Every key with its place: of what is right, and as written where something is wrong."""
    derived = {each.place: each.key for each in wanted}
    for document in files.documents:
        for entry in document.entries:
            key = derived.get(entry.place, entry.fields.get("key"))
            if isinstance(key, str):
                yield key, entry.place


def _twins(keys: Iterable[tuple[str, Place]]) -> Iterable[Problem]:
    first: dict[str, Place] = {}
    for key, place in keys:
        other = first.setdefault(key, place)
        if other != place:
            message = f'expected each key once, got "{key[:100]}" as in {other} already'
            yield Problem(place, "key", message)
