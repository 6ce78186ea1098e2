"""Taking secrets out of what came back, before anybody could see it (S8). Pure.

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
_ESCAPES: Final = (b"%", b"\\", b"&")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What must not be seen."""

    forms: tuple[bytes, ...] = field(default=(), repr=False)
    """The longest first, so that none is left in halves by a shorter one within it."""
    escaped: tuple[bytes, ...] = field(default=(), repr=False)
    """Values that may come back with escapes of any kind."""

    def __bool__(self) -> bool:
        return bool(self.forms)

    @staticmethod
    def of(value: str) -> Hidden:
        """A secret, in all its forms."""
        escaped = (value.encode(),) if disguise.is_escaped(value) else ()
        return Hidden(disguise.forms(value), escaped)

    @staticmethod
    def all(each: Iterable[Hidden]) -> Hidden:
        """Several together."""
        each = tuple(each)
        forms = {form for hidden in each for form in hidden.forms}
        escaped = {value for hidden in each for value in hidden.escaped}
        return Hidden(_longest_first(forms), _longest_first(escaped))


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
    if hidden.escaped or not head.isascii():
        return False
    encoded, body = head.encode(), reply.body
    return not any(
        form in encoded or form in body or form[:_SHORTEST_CUT] in body[-len(form) :]
        for form in hidden.forms
    ) and not any(form[:_SHORTEST_CUT] in encoded for form in hidden.forms)


def without(data: bytes, hidden: Hidden) -> bytes:
    """The data with everything hidden in it replaced, whole or cut off at the end."""
    for form in hidden.forms:
        if form in data:
            data = data.replace(form, _MASK)
    if hidden.escaped and any(sign in data for sign in _ESCAPES):
        data = _without_escaped(data, hidden.escaped)
    return min((_without_cut(data, form) for form in hidden.forms), key=len, default=data)


def _without_escaped(data: bytes, values: tuple[bytes, ...]) -> bytes:
    """The data without the values, however they are escaped in it; twice escaped, too."""
    plain = disguise.read(data)
    again = disguise.read(plain)
    if not any(value in plain or value in again for value in values):
        return data
    once = disguise.unescaped(data)
    twice = disguise.unescaped(once.data)
    spans = [once.origin(*span) for value in values for span in _spans(once.data, value)]
    spans += [
        once.origin(*twice.origin(*span)) for value in values for span in _spans(twice.data, value)
    ]
    return _cut_out(data, spans)


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
    if len(form) <= _SHORTEST_CUT:
        return data
    beginning = form[:_SHORTEST_CUT]
    at = data.find(beginning, max(0, len(data) - len(form) + 1))
    while at >= 0:
        if form.startswith(data[at:]):
            return data[:at] + _MASK
        at = data.find(beginning, at + 1)
    return data


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
