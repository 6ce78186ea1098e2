"""Bodies that are as hard to read as a body of their size can be."""

from __future__ import annotations

from typing import Final

KB: Final = 1024
BODY: Final = 512 * KB - 16
BULK: Final = 10 * KB * KB - 64


def objects(size: int = BODY) -> bytes:
    """As many objects as there is room for."""
    return b'{"payload":[' + b",".join([b"{}"] * ((size - 16) // 3)) + b"]}"


def names(size: int = BODY) -> bytes:
    """As many names as there is room for."""
    return b"{" + b",".join(b'"%06x":0' % n for n in range((size - 16) // 11)) + b"}"


def repeated(size: int = BODY) -> bytes:
    """Objects, the last of which has a name twice, and a colon that is written as an escape."""
    inner = b",".join([b'{"\\u003a":0}'] * ((size - 64) // 13))
    return b'{"payload":[' + inner + b',{"a":1,"a":2}]}'


def nested(size: int = BODY) -> bytes:
    """Lists in lists."""
    half = (size - 16) // 2
    return b'{"payload":' + b"[" * half + b"]" * half + b"}"


def floats(size: int = BODY) -> bytes:
    """Numbers that take long to read."""
    return b'{"payload":[' + b",".join([b"1.7976931348623157e308"] * ((size - 16) // 23)) + b"]}"


def fields(size: int = BODY) -> bytes:
    """A form of as many fields as there is room for."""
    return b"&".join([b"a=1"] * ((size - 128) // 4))


def escapes(size: int = BODY) -> bytes:
    """A form with a field in which every character is an escape."""
    return b"payload=" + b"%3C" * ((size - 128) // 3)


HARD: Final = {
    "as many objects as fit": objects,
    "as many names as fit": names,
    "a name twice, among objects": repeated,
    "lists in lists": nested,
    "numbers": floats,
}
FORMS: Final = {"as many fields as fit": fields, "escapes alone": escapes}
