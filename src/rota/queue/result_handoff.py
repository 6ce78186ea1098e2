"""What one firing, or one step of it, hands on to the next. Pure.

What a target answered is data to the next one and nothing more: what looks like a placeholder for a
secret in it must not be filled in.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from rota.targets.placeholders import BEGINNING

MAX_RESULT: Final = 64 * 1024
"""Bytes of a result that is handed on; a longer one is not, as half of it would be of no use."""

_DEFUSED: Final = BEGINNING.replace("${", "$ {")
_NUL: Final = r"\u0000"


def result(body: bytes | None) -> Any:
    """An answer as the next one gets it: JSON, or text where it is none; None without any."""
    if not body or len(body) > MAX_RESULT:
        return None
    try:
        value = msgspec.json.decode(body)
        text = msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):
        value = body.decode(errors="replace").replace("\0", "\ufffd")
        text = msgspec.json.encode(value).decode()
    if BEGINNING not in text and _NUL not in text:
        return value
    text = text.replace(BEGINNING, _DEFUSED)
    # PostgreSQL's jsonb has no NUL: a text with one is passed over.
    return None if _NUL in text else msgspec.json.decode(text)


def joined(payload: Any, name: str, said: object) -> Any:
    """A payload with one member more. Only an object, or none, can take one; others stay."""
    if payload is None:
        return {name: said}
    if not isinstance(payload, dict):
        return payload
    return {**cast("dict[str, Any]", payload), name: said}
