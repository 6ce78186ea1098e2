"""The forms in which a secret may come back. Pure.

Texts travel as base64 (also as a part of a longer text, as in Basic authentication), hexadecimal,
percent-encoded, and with the escapes of JSON and HTML. The usual spellings are listed by `forms`;
`unescaped` reads all others, since every program has its own idea of what needs an escape.
"""

from __future__ import annotations

import base64
import html
import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST: Final = 4
"""Of what is derived from a value. Shorter ones are in every text by chance."""
_LONG: Final = 4_096
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_NEVER_ESCAPED = re.compile(r"[A-Za-z0-9]*", re.ASCII)
_ESCAPE = re.compile(
    rb"%[0-9A-Fa-f]{2}"
    # Together, as a pair of them may be one character.
    rb"|(?:\\u[0-9A-Fa-f]{4})+"
    rb"|\\[\"'\\/bfnrt]"
    rb"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|quot|amp|lt|gt|apos);"
)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ENTITIES: Final = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}


def forms(value: str) -> tuple[bytes, ...]:
    """How the value may show in a text, the longest first. The value itself is always one."""
    plain = value.encode()
    texts = {plain, *(text.encode() for text in _texts(value))}
    # Of a request that comes back in base64 as a whole, each part is in there as it was sent.
    sent = texts if len(plain) <= _LONG else {plain}
    derived = texts.union(*(_encodings(text) for text in sent))
    kept = {form for form in derived if len(form) >= _SHORTEST} | {plain}
    return tuple(sorted(kept, key=lambda form: (-len(form), form)))


def is_escaped(value: str) -> bool:
    """Whether some program would write it with escapes."""
    return not _NEVER_ESCAPED.fullmatch(value)


def read(data: bytes) -> bytes:
    """The data with percent-encoding, JSON's and HTML's escapes read, whichever it has."""
    return _ESCAPE.sub(lambda match: _meaning(match[0]), data)


@dataclass(frozen=True, slots=True)
class Unescaped:
    """Data with its escapes read, that knows where each byte came from."""

    data: bytes
    _starts: list[int]
    """Where each piece begins; every second one is an escape."""
    _origins: list[int]
    """Where it began before."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where the bytes from `start` to `end` came from: escapes that they touch, whole."""
        first, last = (bisect_right(self._starts, at) - 1 for at in (start, end - 1))
        begin = self._origins[first] + (0 if first % 2 else start - self._starts[first])
        if last % 2:
            return begin, self._origins[last + 1]
        return begin, self._origins[last] + end - self._starts[last]


def unescaped(data: bytes) -> Unescaped:
    """`read`, which is much quicker, with a memory of where everything was."""
    parts: list[bytes] = []
    starts, origins = [0], [0]
    at = done = 0
    for match in _ESCAPE.finditer(data):
        plain, meaning = data[done : match.start()], _meaning(match[0])
        parts += (plain, meaning)
        starts += (at + len(plain), at + len(plain) + len(meaning))
        origins += (match.start(), match.end())
        at, done = starts[-1], match.end()
    parts.append(data[done:])
    return Unescaped(b"".join(parts), starts, origins)


@lru_cache(maxsize=4096)
def _meaning(escape: bytes) -> bytes:
    text = escape.decode()
    match text[0], text[1]:
        case "%", _:
            return bytes.fromhex(text[1:])
        case "\\", "u":
            units = bytes.fromhex(text.replace("\\u", ""))
            return units.decode("utf-16-be", errors="replace").encode()
        case "\\", char:
            return _SHORT.get(char, char).encode()
        case _, "#":
            number = int(text[3:-1], 16) if text[2] in "xX" else int(text[2:-1])
            is_one = number < 0xD800 or 0xDFFF < number <= 0x10FFFF
            return chr(number).encode() if is_one else b"?"
        case _:
            return _ENTITIES[text[1:-1]].encode()


def _texts(value: str) -> Iterator[str]:
    for escaped in (
        quote(value, safe=""),
        quote(value),
        quote(value, safe="/:@!$&'()*+,;="),
        quote(value, safe="!'()*~"),
        quote_plus(value),
    ):
        yield escaped
        yield _PERCENT.sub(lambda match: match[0].lower(), escaped)
    for escaped in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
    yield html.escape(value)


def _encodings(data: bytes) -> Iterator[bytes]:
    yield data.hex().encode()
    yield data.hex().upper().encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data)
        for before in range(3):
            yield _within_base64(encode(bytes(before) + data), before, len(data))


def _within_base64(encoded: bytes, before: int, length: int) -> bytes:
    """What of the encoding is the same whatever comes before and after: neither the characters
    that share bits with the bytes before, nor the last, if it shares bits with what follows."""
    first = (before * 8 + 5) // 6
    end = (before + length) * 8 // 6
    return encoded[first:end]
