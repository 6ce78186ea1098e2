"""Names for rows: ULIDs, stored as `uuid`, shown with a prefix that says what they name.

A ULID is 48 bits of milliseconds since 1970 followed by 80 bits that tell equals apart, so ids sort
by time in the database, in text and in Python alike. As text an id is `sch_01HX…`: the prefix of
its kind and 26 characters of Crockford's base 32. Text is read in either case and written in one
(lower-case prefix, upper-case ULID), so that two spellings never name the same row in a log.

A firing's id is not drawn but computed from its schedule and slot. The same slot has the same id
on every node and at every try, which makes the primary key the rule against firing twice.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import UUID

from ulid import ULID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Two days short of the end of the calendar, so that whoever looks around the instant may.
_LAST_MILLIS = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp()) * 1000
_MICROSECOND = timedelta(microseconds=1)
_RANDOM_BYTES = 10
# Copied for each firing. Its words keep firing ids apart from any other hash of a schedule id;
# changing them would give every slot a new id, and fire again what has already fired.
_FIRING = blake2b(digest_size=_RANDOM_BYTES, person=b"rota firing")
_FOLLOWING = blake2b(digest_size=_RANDOM_BYTES, person=b"rota after")


# Crockford's base 32, two characters at a time: five bits each, thirteen pairs for 128 bits.
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _DIGITS for second in _DIGITS)
_RANDOM_BITS = _RANDOM_BYTES * 8
_STAMP_SHIFTS = tuple(range(40, -1, -10))
_RANDOM_SHIFTS = tuple(range(_RANDOM_BITS - 10, -1, -10))


class Kind(StrEnum):
    """What an id names, by the prefix it is shown with."""

    TENANT = "ten"
    KEY = "key"
    SCHEDULE = "sch"
    FIRING = "fir"
    ATTEMPT = "att"
    NODE = "nod"
    CHANNEL = "chn"
    ALERT = "alr"
    NOTIFICATION = "ntf"


class InvalidId(ValueError):
    """Text that is not an id of the kind asked for, or an instant that no id can carry."""


def new(*, at: datetime) -> UUID:
    """A fresh id made at the instant `at`; two calls never give the same one."""
    millis, _ = _split(at)
    return UUID(bytes=millis + secrets.token_bytes(_RANDOM_BYTES))


def several(count: int, *, at: datetime) -> Iterator[UUID]:
    """So many fresh ids of one instant, as `new` makes each; in order, so that rows are, too."""
    millis, _ = _split(at)
    first = int.from_bytes(millis, "big") << _RANDOM_BYTES * 8
    drawn = secrets.token_bytes(_RANDOM_BYTES * count)
    ends = range(_RANDOM_BYTES, len(drawn) + 1, _RANDOM_BYTES)
    rest = sorted(drawn[end - _RANDOM_BYTES : end] for end in ends)
    return (UUID(int=first | int.from_bytes(each, "big")) for each in rest)


def firing_id(schedule_id: UUID, scheduled_for: datetime) -> UUID:
    """The one id of this schedule's slot at `scheduled_for`."""
    return firing_ids([(schedule_id, scheduled_for)])[0]


def firing_ids(slots: Iterable[tuple[UUID, datetime]]) -> list[UUID]:
    """`firing_id` of each (schedule id, scheduled for), in order.

    A pass fires thousands of timers that share few instants, so each instant is taken apart once.
    """
    parts: dict[datetime, tuple[bytes, bytes]] = {}
    ids: list[UUID] = []
    for schedule_id, scheduled_for in slots:
        part = parts.get(scheduled_for)
        if part is None:
            part = parts[scheduled_for] = _split(scheduled_for)
        millis, rest = part
        salt = _FIRING.copy()
        salt.update(schedule_id.bytes + rest)
        ids.append(UUID(int=int.from_bytes(millis + salt.digest(), "big")))
    return ids


def manual_firing_id(at: datetime) -> UUID:
    """The id of a run that somebody asked for at `at`: it has no slot, so it is always new."""
    return new(at=at)


def following_id(schedule_id: UUID, firing_id: UUID, scheduled_for: datetime) -> UUID:
    """The one id of this schedule's firing that follows the end of another's, of the same slot."""
    millis, _ = _split(max(scheduled_for, _EPOCH))
    salt = _FOLLOWING.copy()
    salt.update(schedule_id.bytes + firing_id.bytes)
    return UUID(bytes=millis + salt.digest())


def is_on_the_calendar(id_: UUID) -> bool:
    """Whether the instant in an id is one that a datetime can name, and look around of."""
    return id_.int >> _RANDOM_BITS <= _LAST_MILLIS


def to_text(kind: Kind, id_: UUID) -> str:
    """The id as people and programs see it: `sch_01HX…`."""
    number = id_.int
    rest = "".join([_PAIRS[number >> shift & 1023] for shift in _RANDOM_SHIFTS])
    return f"{kind.value}_{_stamp(number >> _RANDOM_BITS)}{rest}"


@lru_cache(maxsize=256)
def _stamp(millis: int) -> str:
    """The first part of an id's text, which many have in common."""
    return "".join([_PAIRS[millis >> shift & 1023] for shift in _STAMP_SHIFTS])


def from_text(kind: Kind, text: str) -> UUID:
    """The id that `text` names. Anything but an id of that kind is InvalidId."""
    prefix, separator, ulid = text.partition("_")
    # Without the ASCII test a Kelvin sign would pass for the k of "key".
    if not separator or not prefix.isascii() or prefix.lower() != kind.value:
        raise _unlike(kind, text)
    try:
        return ULID.from_str(ulid).to_uuid()
    except ValueError as error:
        raise _unlike(kind, text) from error


def _unlike(kind: Kind, text: str) -> InvalidId:
    # Cut, because the text is whatever a stranger put in a URL and this ends up in logs.
    shown = repr(text) if len(text) <= 40 else f"{text[:40]!r}… ({len(text)} characters)"
    return InvalidId(f"expected an id like {kind.value}_01…, got {shown}")


def _split(instant: datetime) -> tuple[bytes, bytes]:
    """The instant's milliseconds as a ULID has them, and what is left over (empty when nothing).

    There is no upper bound to check: 48 bits reach the year 10889, datetimes end with 9999.
    """
    if instant.tzinfo is None:
        raise InvalidId(f"expected an aware instant for an id, got the naive {instant}")
    if instant < _EPOCH:
        raise InvalidId(f"expected an instant from 1970 on for an id, got {instant.isoformat()}")
    millis, micros = divmod((instant - _EPOCH) // _MICROSECOND, 1000)
    return millis.to_bytes(6, "big"), micros.to_bytes(2, "big") if micros else b""
