"""Reading JSON in short steps, so that no body keeps the event loop for long. Pure.

A decoder is one call, and 10 MB of numbers take it seconds. So a large value is taken apart first,
without reading what is in it, and its parts are read a few kilobytes at a time.
"""

from __future__ import annotations

import codecs
import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from rota.api.problems import Refused, bad_field, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from rota.time_slicer import Steps

CHUNK: Final = 16 * 1024
"""Bytes that are read in one call: the slowest there are, certain numbers, take 10 ms."""
MAX_DEPTH: Final = 64
"""How deep a value of more than a chunk may lie: every level is scanned for itself."""
MAX_ITEM: Final = 512 * 1024
"""Bytes of one item of a list: as many as it could have in a request of its own."""

MAX_FIELDS: Final = 200

_BOM = codecs.BOM_UTF8
_FEW_COMMAS = 200_000
_NAMED_WITHIN = 64 * 1024
_SPACE = b" \t\r\n"
_OPENING = re.compile(
    r'[ \t\r\n]*(?:\{[ \t\r\n]*"(?P<name>\w+)"[ \t\r\n]*:[ \t\r\n]*)?\[[ \t\r\n]*'
)
_BETWEEN = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_CLOSING = {False: re.compile(r"[ \t\r\n]*"), True: re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")}

Written = bytes | msgspec.Raw


def value(content: Written) -> Steps[Any]:
    """The JSON value that is written there: strict, in UTF-8, every name of an object once."""
    try:
        if bytes(memoryview(content)[: len(_BOM)]) == _BOM:
            raise _not_json("it begins with a byte order mark; leave that out")
        found = yield from _value(content, MAX_DEPTH)
        if len(content) > CHUNK:
            yield
        _require_each_name_once(content, found)
    except UnicodeDecodeError as error:
        raise _not_json("text that is not UTF-8") from error
    except RecursionError as error:
        raise _not_json("values nested too deeply") from error
    except (ValueError, msgspec.DecodeError) as error:
        raise _not_json(str(error)) from error
    return found


def items(content: bytes, names: Sequence[str], *, most: int) -> Steps[list[dict[str, Any]]]:
    """The objects of a list, or of an object with nothing but a list of one of these names."""
    try:
        written = yield from _parts(content, names, most)
    except UnicodeDecodeError as error:
        raise _not_json("text that is not UTF-8") from error
    except RecursionError as error:
        raise _not_json("values nested too deeply") from error
    except (ValueError, msgspec.DecodeError) as error:
        raise _not_json(str(error)) from error
    if len(written) > most:
        raise bad_field(names[0], f"expected at most {most:,}, got more")
    found: list[dict[str, Any]] = []
    small: list[Written] = []
    size = 0
    for at, each in enumerate(written):
        if len(each) > MAX_ITEM:
            raise _too_large(at)
        if small and size + len(each) > CHUNK // 2:
            found += _objects((yield from value(_listed(small))), at - len(small))
            small, size = [], 0
            yield
        small.append(each)
        size += len(each) + 1
    found += _objects((yield from value(_listed(small))), len(written) - len(small))
    return found


def _listed(parts: Sequence[Written]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def _objects(read: list[Any], first: int) -> list[dict[str, Any]]:
    for at, each in enumerate(read, first):
        if not isinstance(each, dict):
            raise bad_field(f"items[{at}]", "expected an object")
        require_few_fields(cast("dict[str, Any]", each), f"items[{at}]")
    return read


def require_few_fields(given: dict[str, Any], name: str) -> None:
    """Refuse an object with far more fields than anything has: each would be looked at."""
    if len(given) > MAX_FIELDS:
        raise bad_field(name, f"expected at most {MAX_FIELDS} fields, got {len(given):,}")


def _value(content: Written, depth: int) -> Generator[None, None, Any]:
    if len(content) <= CHUNK:
        return msgspec.json.decode(content)
    yield
    match bytes(memoryview(content)[:64]).lstrip(_SPACE)[:1]:
        case b"[":
            parts = msgspec.json.decode(content, type=list[msgspec.Raw])
            yield
            return (yield from _values(parts, depth))
        case b"{":
            members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
            yield
            read = yield from _values(list(members.values()), depth)
            return dict(zip(members, read, strict=True))
        case _:
            return msgspec.json.decode(content)


def _values(parts: list[msgspec.Raw], depth: int) -> Generator[None, None, list[Any]]:
    """What the parts say; the small ones are read together."""
    if depth == 0:
        raise RecursionError
    found: list[Any] = []
    start = size = 0
    for at, each in enumerate(parts):
        if size + len(each) > CHUNK:
            found += _together(parts[start:at])
            start, size = at, 0
            yield
        if len(each) > CHUNK:
            found.append((yield from _value(each, depth - 1)))
            start = at + 1
            yield
        else:
            size += len(each) + 1
    found += _together(parts[start:])
    return found


def _together(parts: list[msgspec.Raw]) -> list[Any]:
    return msgspec.json.decode(_listed(parts)) if parts else []


def _parts(
    content: bytes, names: Sequence[str], most: int
) -> Generator[None, None, Sequence[Written]]:
    """Each item as it is written."""
    if content.count(b",") > _FEW_COMMAS:
        # There may be millions of items, and a decoder would take all of them apart at once.
        yield
        return (yield from _split(content.decode(), names, most))
    yield
    if content.lstrip(_SPACE)[:1] == b"{":
        members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        unknown = next((name for name in members if name not in names), names[0])
        if len(members) != 1 or unknown not in names:
            raise bad_field(unknown[:60], f"expected an object with nothing but {names[0]}")
        [content_] = members.values()
        yield
    else:
        content_ = msgspec.Raw(content)
    if bytes(memoryview(content_)[:64]).lstrip(_SPACE)[:1] != b"[":
        msgspec.json.decode(content_, type=msgspec.Raw)
        raise _no_list(names, most)
    found = msgspec.json.decode(content_, type=list[msgspec.Raw])
    if not found:
        raise _no_list(names, most)
    return found


def _split(text: str, names: Sequence[str], most: int) -> Generator[None, None, list[bytes]]:
    """The same, item by item: no more than there may be, and none larger than it may be."""
    opening = _OPENING.match(text)
    if opening is None or (opening["name"] or names[0]) not in names:
        raise _no_list(names, most)
    scan = json.JSONDecoder().raw_decode
    found: list[bytes] = []
    at = opening.end()
    base, window = at, text[at : at + MAX_ITEM + CHUNK]
    while True:
        if at - base > CHUNK:
            base, window = at, text[at : at + MAX_ITEM + CHUNK]
        try:
            _, end = scan(window, at - base)
        except ValueError:
            if len(window) >= MAX_ITEM:
                raise _too_large(len(found)) from None
            raise ValueError(f"items[{len(found)}] is malformed") from None
        found.append(window[at - base : end].encode())
        if len(found) > most:
            return found
        after = _BETWEEN.match(text, base + end)
        if after is None:
            raise ValueError(f"expected a comma after items[{len(found) - 1}]")
        at = after.end()
        if after[1] == "]":
            break
        yield
    if _CLOSING[opening["name"] is not None].fullmatch(text, at) is None:
        raise ValueError("trailing characters")
    return found


def _no_list(names: Sequence[str], most: int) -> Refused:
    return bad_field(names[0], f"expected a list of 1 to {most:,} schedules")


def _too_large(at: int) -> Refused:
    wrong = f"expected at most {MAX_ITEM // 1024} kB, got more"
    return bad_field(f"items[{at}]", wrong)


def _require_each_name_once(content: Written, found: Any) -> None:
    """Refuse a name that is twice in an object, told by a count and not by another reading.

    What is decoded has lost the first of two, and its colon: written again there are fewer of them.
    """
    written = bytes(content)
    if _colons(written) == msgspec.json.encode(found).count(b":"):
        return
    if len(written) <= _NAMED_WITHIN:
        json.loads(written, object_pairs_hook=_each_once)
    raise ValueError("a name is more than once in an object")


def _colons(written: bytes) -> int:
    count = written.count(b":")
    if b"\\u003" in written:
        # A colon may be written as an escape; a backslash before it must not be one itself.
        plain = written.replace(b"\\\\", b"")
        count += plain.count(b"\\u003a") + plain.count(b"\\u003A")
    return count


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        # Who reads it first and who reads it last would see different things.
        raise ValueError(f"the name {shown(twice)} is more than once in an object")
    return found


def _not_json(reason: str) -> Refused:
    detail = f"expected a body of JSON, got something else: {reason}"
    return Refused(HTTPStatus.BAD_REQUEST, detail)
