"""A channel, and what it is made of as its owner writes it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from rota.errors import InvalidInput
from rota.tenants.secrets import Masked
from rota.watch.kinds import DEFAULT_EVENTS, EVENTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

MAX_NAME: Final = 100
MAX_TAGS: Final = 20
MAX_TAG: Final = 100

# A name is used in paths and on command lines: nothing to quote, nothing that looks like an id.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@-]*[A-Za-z0-9])?", re.ASCII)
_FIELDS: Final = ("name", "url", "events", "tags", "enabled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the owner decides; every value is in range."""

    name: str
    url: Masked | None = field(default=None, repr=False)
    """None for the one it has."""
    events: tuple[str, ...] = DEFAULT_EVENTS
    tags: tuple[str, ...] = ()
    """Only of schedules with one of these; of all without any."""
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel as it may be seen."""

    id: UUID
    tenant_id: UUID
    name: str
    shown: str
    """Its URL, without what is secret in it."""
    events: tuple[str, ...]
    tags: tuple[str, ...]
    enabled: bool
    created_at: datetime
    updated_at: datetime
    last_sent_at: datetime | None
    last_error: str | None
    """Why the last notification could not be sent; None when it could."""

    @property
    def terms(self) -> Terms:
        return Terms(name=self.name, events=self.events, tags=self.tags, enabled=self.enabled)


def read(given: Mapping[str, object], *, events: tuple[str, ...]) -> Terms:
    """The terms of a new channel; `events` are those it has unless it says which."""
    for name in ("name", "url"):
        if given.get(name) is None:
            raise _refused(name, "it is required")
    return change(Terms(name="", events=events), given)


def change(terms: Terms, given: Mapping[str, object]) -> Terms:
    """The terms with those given in place of the old; null takes one back to its default."""
    unknown = sorted(set(given) - set(_FIELDS))
    if unknown:
        name = unknown[0][:60]
        raise InvalidInput(
            f"Unknown field {name!r}: expected some of {', '.join(_FIELDS)}", field=name
        )
    return replace(terms, **{name: _read_one(name, value) for name, value in given.items()})


def _read_one(name: str, value: object) -> object:
    match name:
        case "name":
            return _name(value)
        case "url":
            return _url(value)
        case "events":
            return DEFAULT_EVENTS if value is None else _events(value)
        case "tags":
            return () if value is None else _tags(value)
        case _:
            return _enabled(value)


def _name(value: object) -> str:
    fits = isinstance(value, str) and len(value) <= MAX_NAME and _NAME.fullmatch(value)
    if not fits or str(value).lower().startswith("chn_"):
        expected = f"up to {MAX_NAME} letters, digits, spaces and . _ @ -, not beginning with chn_"
        raise _refused("name", f"expected {expected}")
    return str(value)


def _url(value: object) -> Masked:
    # Whatever it is, it may be a secret that is in the wrong place: it is not repeated.
    if not isinstance(value, str):
        raise _refused("url", "expected text such as https://hooks.example.com/…")
    return Masked(value)


def _events(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
    wrong = [each for each in items if each not in EVENTS]
    if wrong or not items:
        raise _refused("events", f"expected a list with some of {', '.join(EVENTS)}")
    return tuple(each for each in EVENTS if each in items)


def _tags(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
    if len(items) > MAX_TAGS or not all(_is_tag(each) for each in items):
        raise _refused(
            "tags", f"expected a list of up to {MAX_TAGS} tags of up to {MAX_TAG} characters"
        )
    return tuple(dict.fromkeys(str(each) for each in items))


def _is_tag(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TAG
        and value.isprintable()
        and bool(value.strip())
    )


def _enabled(value: object) -> bool:
    if value is None:
        return True
    if not isinstance(value, bool):
        raise _refused("enabled", "expected true or false")
    return value


def _refused(name: str, wrong: str) -> InvalidInput:
    return InvalidInput(f"Invalid {name}: {wrong}", field=name)
