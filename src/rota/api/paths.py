"""Ids in paths: text that is not an id names nothing, and so is not found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rota import ids
from rota.api.problems import bad_field, not_found, shown

if TYPE_CHECKING:
    from uuid import UUID

    from litestar import Request


def schedule_id(text: str) -> UUID:
    """The schedule that a path names; a problem with `id` when the text is no such id."""
    return _read(ids.Kind.SCHEDULE, text)


def firing_id(text: str) -> UUID:
    """The firing that a path names."""
    id_ = _read(ids.Kind.FIRING, text)
    if not ids.is_on_the_calendar(id_):
        # A well-formed id, but nothing can have it.
        raise not_found("firing")
    return id_


def tenant_id(text: str) -> UUID:
    """The tenant that a path names."""
    return _read(ids.Kind.TENANT, text)


def key_id(text: str) -> UUID:
    """The key that a path names: its id, which is no secret."""
    return _read(ids.Kind.KEY, text)


def channel_id(text: str) -> UUID:
    """The channel that a path names."""
    return _read(ids.Kind.CHANNEL, text)


def rest_of(request: Request[Any, Any, Any], prefix: str) -> str:
    """What follows the prefix, decoded once and otherwise as it was sent.

    Keys may hold slashes (`*/5`), which routing would tidy up.
    """
    path = unquote(request.scope["raw_path"].decode("latin-1"), errors="replace")
    start = path.find(prefix)
    key = path[start + len(prefix) :] if start >= 0 else ""
    if not key or "�" in key or "\0" in key:
        raise bad_field("key", f"expected a key in UTF-8, got {shown(key)}")
    return key


def _read(kind: ids.Kind, text: str) -> UUID:
    try:
        return ids.from_text(kind, text)
    except ids.InvalidId as error:
        raise bad_field("id", str(error)) from error
