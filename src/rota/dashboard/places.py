"""Where a list goes on, in an address. Pure. Not a secret, and it proves nothing: whatever it says,
the tenant's own rows are read."""

import base64
import binascii
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from rota.dashboard.refusals import PageRefused

T = TypeVar("T")

_MAX_LENGTH = 500


def write(place: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read(text: str | None, kind: type[T]) -> T | None:
    """The place that was written; None without one."""
    if not text:
        return None
    cut = text[:_MAX_LENGTH]
    try:
        content = base64.b64decode(cut + "=" * (-len(cut) % 4), altchars=b"-_", validate=True)
        place = msgspec.json.decode(content, type=kind)
        _require_instants(msgspec.to_builtins(place, builtin_types=(datetime,)))
    except (ValueError, OverflowError, binascii.Error) as error:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "There is no such page of this list.") from error
    return place


def _require_instants(members: dict[str, Any] | tuple[Any, ...]) -> None:
    """Refuse an instant without a zone, or beyond the calendar: the database takes neither."""
    for each in members.values() if isinstance(members, dict) else members:
        if isinstance(each, datetime) and each.tzinfo is None:
            raise ValueError(each)
        if isinstance(each, datetime):
            each.astimezone(UTC)  # OverflowError
