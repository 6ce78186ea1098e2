"""Where a list goes on (`rota.cursors`), in an address of ours; any other is a page that is not."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from rota import cursors
from rota.dashboard.refusals import PageRefused

T = TypeVar("T")

write = cursors.encode


def read(text: str | None, kind: type[T]) -> T | None:
    """The place that was written; None without one."""
    if not text:
        return None
    try:
        place = cursors.decode(text, kind)
        _require_instants(msgspec.to_builtins(place, builtin_types=(datetime,)))
    except (ValueError, OverflowError) as error:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "There is no such page of this list.") from error
    return place


def _require_instants(members: dict[str, Any] | tuple[Any, ...]) -> None:
    """Refuse an instant without a zone, or beyond the calendar: the database takes neither."""
    for each in members.values() if isinstance(members, dict) else members:
        if isinstance(each, datetime) and each.tzinfo is None:
            raise ValueError(each)
        if isinstance(each, datetime):
            each.astimezone(UTC)  # OverflowError
