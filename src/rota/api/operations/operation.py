"""What all operations share: their shape, parameters, headers, and the refusals they may give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.tenants.tenant import Scope

AWAY = (503, "The database is away; try again")
KEY = ((401, "No key, or one that is not in force"), (403, "A key without the scope"))
UNKNOWN = (404, "There is no such thing of yours")
WRONG = (422, "Something in the request cannot be taken; `errors` says what")
SLOW = (429, "More requests than the tenant or the address may; Retry-After says when to go on")
TAKEN = (409, "Another schedule has this key")
LARGE = ((400, "Not JSON"), (413, "Too large"), (415, "Not declared as JSON"))


def _number(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": most}


_SOME: dict[str, Any] = {"type": "string", "minLength": 1}
_ID: dict[str, Any] = {"type": "string", "pattern": "^(sch_[0-7][0-9A-HJKMNP-TV-Z]{25})?$"}

# A schema, or the name of a type.
PARAMETERS: dict[str, tuple[str | dict[str, Any], str]] = {
    "limit": (_number(1_000), "How many items a page has, up to 1,000."),
    "cursor": ("string", "The next_cursor of the page before."),
    "status": ("string", "Only those of this status; of all firings, also live or ended."),
    "enabled": ("boolean", "Only those that are, or are not, paused."),
    "job_type": ("string", "Only those that run this task."),
    "tag": ("string", "Only those with this tag."),
    "key": ("string", "Only the one with this key."),
    "name": ("string", "Only those of exactly this name."),
    "q": (
        "string",
        "Only those with this in name, key, description or target, from the beginning of a word.",
    ),
    "partial": ("boolean", "Create what can be created, with a result for each item."),
    "at": (_SOME, "The slot; without an offset, on the wall clock of the schedule's zone."),
    "count": (_number(10_000), "How many."),
    "tenant": ("string", "Whose, by id or name; the caller's own unless given."),
    "after": ("string", "From when on; now unless given."),
    "schedule_id": (_ID, "Only those of this schedule."),
    "since": (
        "string",
        "Only slots, or changes, from this instant on; of all firings, those that ended since.",
    ),
    "until": ("string", "Only slots before this instant."),
    "schedule": (
        "string",
        "Only those of this schedule: its id or key; of a deleted one, or name.",
    ),
    "actor": ("string", "Only those by this actor, such as cli:PREFIX, or one of the two parts."),
    "action": ("string", "Only those of this kind."),
    "open": ("boolean", "Only those that go on, or only those that are over."),
    "kind": ("string", "Only those of this kind."),
    "host": (_SOME, "The receiver's host, such as example.com or example.com:8443; or its URL."),
}


# What is in a path and is no id, by what the path is about.
PATHS: dict[tuple[str, str], str] = {
    ("queues", "queue"): r"^(?!http$|stream$|celery$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$",
    ("secrets", "name"): r"^[A-Za-z_][A-Za-z0-9_]{0,63}$",
    ("calendars", "name"): r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
}

HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Idempotency-Key": (
        "The same request with the same key is carried out once, within a day.",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x20-\\x7e]+$"},
    ),
    "If-Match": (
        "The ETag of the schedule as the caller knows it; another version is a 412.",
        {"type": "string"},
    ),
}
ONCE = ("Idempotency-Key",)
VERSION = ("If-Match",)
STATE = (409, "Its state does not allow it; `detail` says which it is")
CHANGED = (412, "It is not of the version in If-Match")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. `body` and `answer` name schemas of the document."""

    name: str
    method: Literal["get", "post", "put", "patch", "delete"]
    path: str
    summary: str
    scope: Scope | None = None
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: str | None = None
    optional_body: bool = False
    answer: str | None = None
    status: int = 200
    problems: tuple[tuple[int, str], ...] = ()
    also: tuple[int, ...] = ()
    """Further statuses with the same answer."""
    required: tuple[str, ...] = ()
    """What must be in the query."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The words that a part of the query may have."""


def read(
    name: str,
    path: str,
    summary: str,
    answer: str,
    *query: str,
    required: tuple[str, ...] = (),
    choices: Mapping[str, tuple[str, ...]] | None = None,
) -> Operation:
    return Operation(
        name=name,
        method="get",
        path=path,
        summary=summary,
        scope="read",
        query=query,
        answer=answer,
        problems=(*KEY, *((UNKNOWN,) if "{" in path else ()), WRONG, AWAY),
        required=required,
        choices=choices or {},
    )
