"""The key ring: the keys that wrap all others, each with an id. Pure, but for drawing a key.

As text, `id:base64key`, separated by commas or on lines of their own; the first is the current one,
which seals what is new. The others are there to read what they sealed, until `rota secret rotate`
has moved it.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidConfig, OperatorError
from rota.tenants.secrets.cipher import KEY_BYTES, new_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

HOW_TO_SET: Final = (
    "set ROTA_SECRET_KEYS (or ROTA_SECRET_KEYS_FILE) for every Rota process; "
    "`rota secret new-key` prints a key"
)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", re.ASCII)


class NoSecretKeys(OperatorError):
    """Nothing can be sealed or opened: there is no ring."""

    def __init__(self) -> None:
        super().__init__(f"secrets and signing are off, as there is no key ring: {HOW_TO_SET}")


class RingKeyMissing(OperatorError):
    """Something was sealed with a key that the ring does not have."""

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f'the key ring has no key "{key_id}", with which secrets in this database were sealed: '
            "put it back into ROTA_SECRET_KEYS (or ROTA_SECRET_KEYS_FILE), after the current one"
        )


@dataclass(frozen=True, slots=True)
class Ring:
    """At least one key, and which of them seals."""

    current: str
    _keys: Mapping[str, bytes]

    @property
    def ids(self) -> tuple[str, ...]:
        """The current one first, then as written."""
        return tuple(self._keys)

    def key(self, key_id: str) -> bytes:
        """RingKeyMissing when there is none of this id."""
        try:
            return self._keys[key_id]
        except KeyError:
            raise RingKeyMissing(key_id) from None

    def __repr__(self) -> str:
        return f"Ring({', '.join(self._keys)})"


def parse(text: str, *, where: str) -> Ring:
    """The ring that a text says; InvalidConfig with every problem, and never a key, in it.

    `where` is what the messages call the text: a setting's name or a file's.
    """
    keys: dict[str, bytes] = {}
    problems: list[str] = []
    for number, entry in enumerate(_entries(text), start=1):
        key_id, _, encoded = entry.partition(":")
        if not _ID.fullmatch(key_id) or not encoded:
            problems.append(f"{where}: expected id:base64key, got something else as key {number}")
        elif key_id in keys:
            problems.append(f'{where}: expected each id once, got "{key_id}" twice')
        else:
            key = _decoded(encoded)
            keys[key_id] = key or b""
            wrong = _wrong_with(key)
            if wrong:
                problems.append(
                    f'{where}: expected {KEY_BYTES} bytes in base64 for "{key_id}", {wrong}'
                )
    if not keys and not problems:
        problems.append(f"{where}: expected at least one id:base64key, got none")
    if problems:
        raise InvalidConfig(tuple(problems))
    return Ring(next(iter(keys)), keys)


def new_entry(key_id: str) -> str:
    """A line for a new key of this id."""
    return f"{key_id}:{base64.b64encode(new_key()).decode()}"


def next_id(ids: Collection[str]) -> str:
    """An id that is not among those: k1, k2, …"""
    number = len(ids) + 1
    while f"k{number}" in ids:
        number += 1
    return f"k{number}"


def _entries(text: str) -> list[str]:
    lines = (line.partition("#")[0] for line in text.splitlines())
    return [part.strip() for line in lines for part in line.split(",") if part.strip()]


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def _wrong_with(key: bytes | None) -> str | None:
    if key is None:
        return "got something that is not base64"
    if len(key) != KEY_BYTES:
        return f"got {len(key)}; `rota secret new-key` prints a good one"
    return None
