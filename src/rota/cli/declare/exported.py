"""Schedules as documents that `rota apply` takes back and finds nothing to do. Pure.

Only what differs from the defaults is written. The key always is: derived from the name and the
trigger, another trigger in the file would make another schedule of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.cli.declare.standing import without_owner
from rota.schedules import fields, names
from rota.schedules.errors import InvalidSchedule
from rota.schedules.values import same_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from rota.cli.declare.standing import Standing

_LEAST = ("key", *names.TRIGGERS, *names.TARGETS)


def documents(
    standing: Iterable[Standing], *, now: datetime, owner: str | None = None
) -> list[dict[str, Any]]:
    """One document for each owner; those of nobody come first, in one that owns nothing.

    With an `owner`, all of them are in one document of that owner, which may then take them over.
    """
    groups: dict[str | None, list[dict[str, Any]]] = {}
    for each in sorted(standing, key=lambda each: each.key):
        whose = owner or (each.owners[0] if each.owners else None)
        groups.setdefault(whose, []).append(entry(each, now=now))
    if not groups:
        groups[owner] = []
    ordered = sorted(groups.items(), key=lambda pair: (pair[0] is not None, pair[0] or ""))
    return [{"owner": whose, "schedules": entries} for whose, entries in ordered]


def entry(standing: Standing, *, now: datetime) -> dict[str, Any]:
    """What a file has to say to get this schedule."""
    brief = _brief(standing.written, now)
    tags = without_owner(brief.pop("tags", None) or [])
    if tags:
        brief["tags"] = tags
    if standing.status == "paused":
        brief["enabled"] = False
    return _ordered(brief)


def _brief(whole: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The fields that are not as they would be anyway; all of them where that cannot be told."""
    least = {name: whole[name] for name in _LEAST if name in whole}
    usual = _written(least, now) or {}
    differing = {
        name: value
        for name, value in whole.items()
        if name in least or not same_json(value, usual.get(name))
    }
    made = _written(differing, now) or {}
    # Some defaults depend on other fields: what is left out must be what comes back.
    return (
        differing
        if same_json(made | {"enabled": True}, {**whole, "enabled": True})
        else dict(whole)
    )


def _written(given: Mapping[str, Any], now: datetime) -> dict[str, Any] | None:
    try:
        return fields.write(fields.read(given, now=now, require_future=False).definition)
    except InvalidSchedule:
        return None


def _ordered(brief: dict[str, Any]) -> dict[str, Any]:
    """As people write it: what it is, when, whom it calls, and the rest."""
    first = ("key", "name", "description", "tags", *names.TRIGGERS, *names.FRAME, *names.TARGETS)
    order = [*(name for name in first if name in brief), *(n for n in brief if n not in first)]
    return {name: brief[name] for name in order}
