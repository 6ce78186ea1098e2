"""Jitter: the stable offset by which a schedule is due after its slot. Pure."""

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

    A hash of the id: schedules that share a slot are distributed evenly over the window, every
    node computes the same offset, periods stay constant, and nothing is stored.
    """
    if window <= _NONE:
        return _NONE
    # `person` is part of the hash: another value would move every schedule that has a window.
    digest = blake2b(schedule_id.bytes, digest_size=8, person=b"rota spread").digest()
    microseconds = int.from_bytes(digest, "big") * (window // _MICROSECOND) >> 64
    return timedelta(microseconds=microseconds)
