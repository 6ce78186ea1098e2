"""What lists are narrowed down by, in queries and in bodies: a schedule, an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids
from rota.api.problems import bad_field
from rota.errors import InvalidInput
from rota.triggers.at import parse_instant
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID


def schedule_id(text: str | None) -> UUID | None:
    """The schedule asked for; a problem with `schedule_id` when the text is no such id."""
    if text is None:
        return None
    try:
        return ids.from_text(ids.Kind.SCHEDULE, text)
    except ids.InvalidId as error:
        raise bad_field("schedule_id", str(error)) from error


def instant(name: str, text: str | None) -> datetime | None:
    """The instant asked for; UTC unless it says otherwise."""
    if text is None:
        return None
    try:
        return parse_instant(text, zone("UTC"))
    except InvalidInput as error:
        raise bad_field(name, error.message) from error
