"""The forms in which a secret may come back. Pure.

Texts travel as base64 (also as a part of a longer text, as in Basic authentication, and in lines as
in mail), hexadecimal, percent-encoded, and with the escapes of JSON and HTML. The usual spellings
are listed by `forms`. `VIEWS` read all others: every program has its own idea of what needs an
escape, and a stranger may escape any character at all.

Each reading takes time linear in the data: no pattern here can match a byte in two ways.
"""

from __future__ import annotations

import base64
import html
import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST: Final = 4
"""Of what is derived from a value. Shorter ones are in every text by chance."""
_LONG: Final = 4_096
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_IN_URLS: Final = rb"%[0-9A-Fa-f]{2}"
_IN_STRINGS: Final = (
    # Two of them together where they are one character.
    rb"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}"
    rb"|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}|\\[\"'\\/bfnrt]"
)
_IN_HTML: Final = rb"&(?:#[0-9]{1,12}|#[xX][0-9A-Fa-f]{1,12});?|&[A-Za-z][A-Za-z0-9]{1,31};"
_BREAK: Final = rb"[\r\n][ \t\r\n]*"

ANY: Final = re.compile(b"|".join((_IN_URLS, _IN_STRINGS, _IN_HTML)))
URLS: Final = re.compile(_IN_URLS)
STRINGS: Final = re.compile(_IN_STRINGS)
HTML: Final = re.compile(_IN_HTML)
WRAPPED: Final = re.compile(_BREAK)

Chain = tuple[re.Pattern[bytes], ...]
"""What is read in the data, one after the other."""

VIEWS: Final[tuple[Chain, ...]] = ((ANY,), (ANY, ANY))
LINED_VIEWS: Final[tuple[Chain, ...]] = ((WRAPPED,), (ANY, WRAPPED), (ANY, ANY, WRAPPED))
"""For base64 and hexadecimal alone: no other form goes on in the next line."""
STRICT_VIEWS: Final[tuple[Chain, ...]] = ((URLS,), (STRINGS,), (HTML,))
"""For values that hold what looks like an escape: it may be meant as it is."""
_STARTS: Final = (b"%", b"\\", b"&")
_INCOMPLETE = re.compile(
    rb"(?:%[0-9A-Fa-f]?|\\(?:u[0-9A-Fa-f]{0,3}|u\{[0-9A-Fa-f]{0,6}|x[0-9A-Fa-f]?)?"
    rb"|&(?:#?[xX]?[0-9A-Fa-f]{0,12}|[A-Za-z][A-Za-z0-9]{0,31}))\Z"
)
_LONGEST_ESCAPE: Final = 40
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def forms(value: str) -> tuple[bytes, ...]:
    """How the value may show in a text, the longest first. The value itself is always one."""
    plain = value.encode()
    texts = {plain, *(text.encode() for text in _texts(value))}
    # Of a request that comes back in base64 as a whole, each part is in there as it was sent.
    sent = texts if len(plain) <= _LONG else {plain}
    derived = texts.union(*(_encodings(text) for text in sent))
    kept = {form for form in derived if len(form) >= _SHORTEST} | {plain}
    return tuple(sorted(kept, key=lambda form: (-len(form), form)))


def core(value: str) -> tuple[bytes, ...]:
    """What is looked for where escapes have been read: the value, also as forms write blanks."""
    return tuple({value.encode(), value.replace(" ", "+").encode()})


def encodings(value: str) -> tuple[bytes, ...]:
    """The value in base64 and hexadecimal: what may go on in the next line, or be escaped."""
    return tuple({each for each in _encodings(value.encode()) if len(each) >= _SHORTEST})


def looks_escaped(value: str) -> bool:
    """Whether there is something in it that a reader may take for an escape."""
    return any(sign in value.encode() for sign in _STARTS)


def has_escapes(data: bytes) -> bool:
    """Whether there may be an escape in it."""
    return any(sign in data for sign in _STARTS)


def has_lines(data: bytes) -> bool:
    """Whether it has more than one line, also when read."""
    return b"\n" in data or b"\r" in data or has_escapes(data)


def read(data: bytes, escape: re.Pattern[bytes] = ANY) -> bytes:
    """The data with its escapes read."""
    if escape is WRAPPED:
        return escape.sub(b"", data)
    if not has_escapes(data):
        return data
    return escape.sub(lambda match: _meaning(match[0]), data)


def ending(data: bytes, longest: int) -> tuple[int, bytes]:
    """Where the last part begins in which a value of this length could be, and that part without
    an escape that was cut off at its end."""
    start = max(0, len(data) - longest * _LONGEST_ESCAPE)
    part = data[start:]
    cut = _INCOMPLETE.search(part, max(0, len(part) - _LONGEST_ESCAPE))
    return start, part if cut is None else part[: cut.start()]


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


def unescaped(data: bytes, escape: re.Pattern[bytes] = ANY) -> Unescaped:
    """`read`, which is much quicker, with a memory of where everything was."""
    parts: list[bytes] = []
    starts, origins = [0], [0]
    at = done = 0
    for match in escape.finditer(data):
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
    match text[0]:
        case "%":
            return bytes.fromhex(text[1:])
        case "\\":
            return _in_string(text)
        case "&":
            return _in_html(text)
        case _:
            return b""  # where a line ends


def _in_string(text: str) -> bytes:
    match text[1]:
        case "u" if text[2] == "{":
            return _character(int(text[3:-1], 16))
        case "u":
            units = bytes.fromhex(text.replace("\\u", ""))
            return units.decode("utf-16-be", errors="replace").encode()
        case "x":
            return _character(bytes.fromhex(text[2:])[0])
        case char:
            return _SHORT.get(char, char).encode()


def _in_html(text: str) -> bytes:
    if text[1] != "#":
        return html5.get(text[1:], text).encode()
    digits = text[2:].rstrip(";")
    return _character(int(digits[1:], 16) if digits[0] in "xX" else int(digits))


def _character(number: int) -> bytes:
    is_one = number < 0xD800 or 0xDFFF < number <= 0x10FFFF
    return chr(number).encode() if is_one else b"?"


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
