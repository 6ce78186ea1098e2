"""What templates may do with values. Pure."""

import json
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from rota import ids
from rota.dashboard import times

# One tone for each status, the same in every list, strip and chart; the words are the API's.
TONES: Final = {
    "succeeded": "good",
    "up": "good",
    "active": "good",
    "running": "busy",
    "waiting": "calm",
    "retrying": "warn",
    "blocked": "calm",
    "late": "warn",
    "paused": "warn",
    "completed": "calm",
    "dead": "bad",
    "down": "bad",
    "failed": "bad",
    "timed_out": "bad",
    "missed": "bad",
    "unrecorded": "bad",
    "skipped": "mute",
    "cancelled": "mute",
    "interrupted": "warn",
    "lost": "warn",
    "accepted": "busy",
}


_MOST_LONGER: Final = 8
_SHORT: Final = 1_000
_MAX_INDENTED: Final = 16 * 1024
"""Characters of JSON that are indented: more takes long, and nobody reads it."""
MAX_SHOWN: Final = 64 * 1024
"""Characters of a body that a page shows."""
_CUT: Final = "\n… cut off here; the API has all of it"


def tone(status: str | None) -> str:
    """The tone of a status; `calm` for what has none."""
    return TONES.get(status or "", "calm")


def pretty(value: object) -> str:
    """JSON for reading; text that is no JSON, and what would be far longer for it, as it is."""
    if isinstance(value, bytes):
        value = value[: 4 * MAX_SHOWN + 1].decode("utf-8", errors="replace").replace("\0", "\ufffd")
    try:
        is_text = isinstance(value, str)
        plain = value if is_text else json.dumps(value, ensure_ascii=False, default=str)
        if len(plain) > _MAX_INDENTED:
            return plain if len(plain) <= MAX_SHOWN else plain[:MAX_SHOWN] + _CUT
        read: object = json.loads(plain) if is_text else value
        return _indented(read, most=_MOST_LONGER * len(plain) + _SHORT) or plain
    except (ValueError, RecursionError):
        # Among these the half of a surrogate pair, written as an escape: no page can hold it.
        return str(value)


def _indented(value: object, *, most: int) -> str | None:
    """With line breaks; None when it gets too long: 64 kB of brackets would become 60 MB."""
    encoder = json.JSONEncoder(indent=2, ensure_ascii=False, default=str)
    pieces: list[str] = []
    for piece in encoder.iterencode(value):
        pieces.append(piece)
        most -= len(piece)
        if most < 0:
            return None
    text = "".join(pieces)
    text.encode()  # UnicodeEncodeError, a ValueError, for half of a surrogate pair
    return text


def written(value: object) -> str:
    """An old or a new value of a field, on one line."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def schedule_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, id_)


def firing_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.FIRING, id_)


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "tone": tone,
    "pretty": pretty,
    "written": written,
    "schedule_id": schedule_id,
    "firing_id": firing_id,
    "relative": times.relative,
    "clock": times.clock,
    "next_run": times.next_run,
    "duration": times.duration,
    "compact": times.compact,
    "place": times.place,
}
