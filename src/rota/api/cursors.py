"""Where a list goes on (`rota.cursors`); what is no cursor of ours is a problem with `cursor`."""

from __future__ import annotations

from typing import TypeVar

from rota import cursors
from rota.api.problems import Refused, bad_field, shown

T = TypeVar("T")

encode = cursors.encode


def decode(text: str | None, kind: type[T]) -> T | None:
    """The place that a cursor names; a problem with `cursor` when it is not one of ours."""
    if text is None:
        return None
    try:
        return cursors.decode(text, kind)
    except ValueError as error:
        raise refused(text) from error


def refused(text: str) -> Refused:
    """A text that is no cursor of ours."""
    return bad_field("cursor", f"expected the next_cursor of an earlier page, got {shown(text)}")
