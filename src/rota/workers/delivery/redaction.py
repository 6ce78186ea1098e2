"""Redaction: takes secrets out of what came back, before anybody could see it. Pure.

A target may echo what it was sent, in any of the forms that `disguise` knows. A form that is cut
off where the reading ended goes too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from rota.workers.delivery import secret_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.workers.caller import Reply

MASK: Final = "…"
_MASK: Final = MASK.encode()
_SHORTEST_CUT: Final = 4
_NEVER: Final = rb"(?!)"


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
        values = secret_forms.core(value)
        strict = values if secret_forms.looks_escaped(value) else ()
        return Hidden(secret_forms.forms(value), values, secret_forms.encodings(value), strict)

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

    def views(self, data: bytes) -> Iterator[tuple[secret_forms.Chain, tuple[bytes, ...]]]:
        """How the data is read, and what is looked for there. Nothing when it has neither escapes
        nor lines: then what it says is what is written there."""
        if not self.values:
            return
        if secret_forms.has_escapes(data):
            for chain in secret_forms.VIEWS:
                yield chain, self.values + self.encodings
            for chain in secret_forms.STRICT_VIEWS if self.strict else ():
                yield chain, self.strict
        if self.encodings and secret_forms.has_lines(data):
            for chain in secret_forms.LINED_VIEWS:
                yield chain, self.encodings


def scrub(reply: Reply, hidden: Hidden) -> Reply:
    """The reply without anything hidden; the reply itself when there is nothing in it."""
    if not hidden:
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


class Watch:
    """Whether a reply may show something hidden. Quick: of most replies it is plain that they show
    nothing, and they are looked at no further. Made once for many replies."""

    __slots__ = ("_reads", "_starts")

    def __init__(self, hidden: Hidden) -> None:
        # What has no beginning of a form in it has no form, whole or cut.
        starts = sorted({re.escape(form[:_SHORTEST_CUT]) for form in hidden.forms})
        self._starts = re.compile(b"|".join(starts) if starts else _NEVER)
        self._reads = bool(hidden.values)

    def may_show(self, reply: Reply) -> bool:
        """False when `scrub` would return the reply itself."""
        head = "\0".join([f"{name}\0{value}" for name, value in reply.headers])
        if reply.error is not None:
            head = f"{head}\0{reply.error}"
        if not head.isascii():
            return True
        data = b"%b\0%b" % (head.encode(), reply.body)
        if self._starts.search(data) is not None:
            return True
        # With neither escapes nor lines, what it says is what is written there.
        return self._reads and secret_forms.has_lines(data)


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
    read: dict[secret_forms.Chain, bytes] = {(): data}
    for chain, needles in hidden.views(data):
        before = _read(read, chain[:-1], data)
        text = read[chain] = secret_forms.read(before, chain[-1])
        # What was there before has been looked for there, and its line breaks joined.
        if text != before and any(needle in text for needle in needles):
            spans += _found(data, chain, needles)
    data = _cut_out(data, spans)
    return _without_escaped_cut(data, hidden.values) if secret_forms.has_escapes(data) else data


def _read(read: dict[secret_forms.Chain, bytes], chain: secret_forms.Chain, data: bytes) -> bytes:
    """The data read so; what was read before is not read again."""
    if chain not in read:
        read[chain] = secret_forms.read(_read(read, chain[:-1], data), chain[-1])
    return read[chain]


def _found(
    data: bytes, chain: secret_forms.Chain, needles: tuple[bytes, ...]
) -> Iterator[tuple[int, int]]:
    """Where in the data there is what reads so."""
    steps: list[secret_forms.Unescaped] = []
    for escape in chain:
        steps.append(secret_forms.unescaped(data, escape))
        data = steps[-1].data
    for needle in needles:
        for span in _spans(data, needle):
            for step in reversed(steps):
                span = step.origin(*span)  # noqa: PLW2901 - from the last reading to the first
            yield span


def _without_escaped_cut(data: bytes, values: tuple[bytes, ...]) -> bytes:
    """The data without an ending that reads as the beginning of a value."""
    longest = max(map(len, values), default=0)
    start, part = secret_forms.ending(data, longest)
    cuts: list[int] = []
    once = secret_forms.unescaped(part)
    twice = secret_forms.unescaped(once.data)
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
