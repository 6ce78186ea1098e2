"""How far after its slot a schedule is due: a stable offset, so periods stay even. Pure."""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

_MICROSECOND = timedelta(microseconds=1)
_NONE = timedelta()


def offset(schedule_id: UUID, window: timedelta) -> timedelta:
    """Somewhere in [0, window), always the same for the same schedule and window.

    By a hash of the id: schedules that share a slot are spread evenly over the window, on every
    node alike, and nothing needs to be stored.
    """
    if window <= _NONE:
        return _NONE
    digest = blake2b(schedule_id.bytes, digest_size=8, person=b"rota spread").digest()
    microseconds = int.from_bytes(digest, "big") * (window // _MICROSECOND) >> 64
    return timedelta(microseconds=microseconds)
