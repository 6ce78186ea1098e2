"""Redaction: takes secrets out of what came back, before anybody could see it. Pure.

A target may echo what it was sent, in any of the forms that `disguise` knows. A form that is cut
off where the reading ended goes too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from rota.workers import disguise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.workers.calls import Reply

MASK: Final = "…"
_MASK: Final = MASK.encode()
_SHORTEST_CUT: Final = 4


@dataclass(frozen=True, slots=True)
class Hidden:
    """What must not be seen."""

    forms: tuple[bytes, ...] = field(default=(), repr=False)
    """The longest first, so that none is left in halves by a shorter one within it."""
    values: tuple[bytes, ...] = field(default=(), repr=False)
    """What is looked for where escapes have been read."""
    encodings: tuple[bytes, ...] = field(default=(), repr=False)
    """What is looked for there as well, and where lines have been joined."""
    strict: tuple[bytes, ...] = field(default=(), repr=False)
    """Of the values, those with something in them that looks like an escape."""

    def __bool__(self) -> bool:
        return bool(self.forms)

    @staticmethod
    def of(value: str) -> Hidden:
        """A secret, in all its forms."""
        values = disguise.core(value)
        strict = values if disguise.looks_escaped(value) else ()
        return Hidden(disguise.forms(value), values, disguise.encodings(value), strict)

    @staticmethod
    def all(each: Iterable[Hidden]) -> Hidden:
        """Several together."""
        each = tuple(each)
        return Hidden(
            _longest_first({form for hidden in each for form in hidden.forms}),
            _longest_first({value for hidden in each for value in hidden.values}),
            _longest_first({value for hidden in each for value in hidden.encodings}),
            _longest_first({value for hidden in each for value in hidden.strict}),
        )

    def views(self, data: bytes) -> Iterator[tuple[disguise.Chain, tuple[bytes, ...]]]:
        """How the data is read, and what is looked for there. Nothing when it has neither escapes
        nor lines: then what it says is what is written there."""
        if not self.values:
            return
        if disguise.has_escapes(data):
            for chain in disguise.VIEWS:
                yield chain, self.values + self.encodings
            for chain in disguise.STRICT_VIEWS if self.strict else ():
                yield chain, self.strict
        if self.encodings and disguise.has_lines(data):
            for chain in disguise.LINED_VIEWS:
                yield chain, self.encodings


def scrub(reply: Reply, hidden: Hidden) -> Reply:
    """The reply without anything hidden; the reply itself when there is nothing in it."""
    if not hidden or _is_clean(reply, hidden):
        return reply
    # No longer than it came: a short secret in a long body must not make it longer.
    body = without(reply.body, hidden)[: max(len(reply.body), len(_MASK))]
    headers = tuple(
        (text_without(name, hidden), text_without(value, hidden)) for name, value in reply.headers
    )
    error = None if reply.error is None else text_without(reply.error, hidden)
    if body == reply.body and headers == reply.headers and error == reply.error:
        return reply
    return msgspec.structs.replace(reply, body=body, headers=headers, error=error)


def _is_clean(reply: Reply, hidden: Hidden) -> bool:
    """Whether it is plain that there is nothing in it; quick, as that is so for most replies."""
    head = "\n".join([part for pair in reply.headers for part in pair])
    if reply.error is not None:
        head += reply.error
    if not head.isascii() or (hidden.values and disguise.has_escapes(head.encode())):
        return False
    encoded, body = head.encode(), reply.body
    if any(form[:_SHORTEST_CUT] in encoded for form in hidden.forms):
        return False
    return without(body, hidden) == body


def without(data: bytes, hidden: Hidden) -> bytes:
    """The data with everything hidden in it replaced, whole or cut off at the end."""
    for form in hidden.forms:
        if form in data:
            data = data.replace(form, _MASK)
    data = _without_disguised(data, hidden)
    return min((_without_cut(data, form) for form in hidden.forms), key=len, default=data)


def _without_disguised(data: bytes, hidden: Hidden) -> bytes:
    """The data without what shows when its escapes are read, once or twice, or its lines joined."""
    spans: list[tuple[int, int]] = []
    read: dict[disguise.Chain, bytes] = {(): data}
    for chain, needles in hidden.views(data):
        before = _read(read, chain[:-1], data)
        text = read[chain] = disguise.read(before, chain[-1])
        # What was there before has been looked for there, and its line breaks joined.
        if text != before and any(needle in text for needle in needles):
            spans += _found(data, chain, needles)
    data = _cut_out(data, spans)
    return _without_escaped_cut(data, hidden.values) if disguise.has_escapes(data) else data


def _read(read: dict[disguise.Chain, bytes], chain: disguise.Chain, data: bytes) -> bytes:
    """The data read so; what was read before is not read again."""
    if chain not in read:
        read[chain] = disguise.read(_read(read, chain[:-1], data), chain[-1])
    return read[chain]


def _found(
    data: bytes, chain: disguise.Chain, needles: tuple[bytes, ...]
) -> Iterator[tuple[int, int]]:
    """Where in the data there is what reads so."""
    steps: list[disguise.Unescaped] = []
    for escape in chain:
        steps.append(disguise.unescaped(data, escape))
        data = steps[-1].data
    for needle in needles:
        for span in _spans(data, needle):
            for step in reversed(steps):
                span = step.origin(*span)  # noqa: PLW2901 - from the last reading to the first
            yield span


def _without_escaped_cut(data: bytes, values: tuple[bytes, ...]) -> bytes:
    """The data without an ending that reads as the beginning of a value."""
    longest = max(map(len, values), default=0)
    start, part = disguise.ending(data, longest)
    cuts: list[int] = []
    once = disguise.unescaped(part)
    twice = disguise.unescaped(once.data)
    for value in values:
        at = _cut_at(once.data, value)
        if at is not None:
            cuts.append(once.origin(at, len(once.data))[0])
        at = _cut_at(twice.data, value)
        if at is not None:
            cuts.append(once.origin(*twice.origin(at, len(twice.data)))[0])
    return data[: start + min(cuts)] + _MASK if cuts else data


def _spans(data: bytes, value: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = data.find(value, at + len(value))


def _cut_out(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The data with a mask for every span; those that overlap have one together."""
    parts: list[bytes] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            parts += (data[done:start], _MASK)
        done = max(done, end)
    return b"".join((*parts, data[done:]))


def _without_cut(data: bytes, form: bytes) -> bytes:
    """The data without an ending that is the beginning of the form."""
    at = _cut_at(data, form)
    return data if at is None else data[:at] + _MASK


def _cut_at(data: bytes, form: bytes) -> int | None:
    """Where an ending begins that is the beginning of the form."""
    if len(form) <= _SHORTEST_CUT:
        return None
    beginning = form[:_SHORTEST_CUT]
    at = data.find(beginning, max(0, len(data) - len(form) + 1))
    while at >= 0:
        if form.startswith(data[at:]):
            return at
        at = data.find(beginning, at + 1)
    return None


def text_without(text: str, hidden: Hidden) -> str:
    """Of text: also where bytes that are UTF-8 were taken for Latin-1, as in headers."""
    text = _coded(text, hidden, "utf-8")
    return text if text.isascii() else _coded(text, hidden, "latin-1")


def _coded(text: str, hidden: Hidden, encoding: str) -> str:
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        return text
    clean = without(data, hidden)
    return text if clean == data else clean.decode(errors="replace")


def _longest_first(items: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(items, key=lambda item: (-len(item), item)))
