"""What of an attempt is kept. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota.queue.complete import CUT_MARK, AttemptRecord

if TYPE_CHECKING:
    from rota.schedules.definition import Capture
    from rota.workers.caller import Reply

EXCERPT: Final = 500
"""Characters of the response that the firing itself shows (HX4)."""


def tried(
    outcome: str,
    reply: Reply,
    *,
    shown: str | None,
    capture: Capture,
    task: str | None = None,
) -> AttemptRecord:
    """The attempt's record: always that it was made and how it ended; the rest as asked.

    What was sent is `shown`, or a call of this `task`.
    """
    error = None if reply.error is None else clean(reply.error)
    if capture == "none" or (capture == "failures" and outcome == "succeeded"):
        return AttemptRecord(outcome=outcome, error=error)
    if task is not None and not reply.body:
        return AttemptRecord(outcome=outcome, error=error, task=task)
    answered = reply.code is not None or bool(reply.body)
    return AttemptRecord(
        outcome=outcome,
        error=error,
        request=shown,
        task=task,
        response_headers=_headers(reply) if answered else None,
        response_body=reply.body if answered else None,
    )


def excerpt(reply: Reply, *, capture: Capture, ok: bool) -> str | None:
    """The beginning of the response, or of what went wrong."""
    if reply.code is None and (reply.error is not None or not reply.body):
        return None if reply.error is None else clean(reply.error)[:EXCERPT]
    if capture == "none" or (capture == "failures" and ok):
        return None
    # Four bytes are the longest character there is.
    return clean(reply.body[: EXCERPT * 4].decode(errors="replace"))[:EXCERPT] or None


MAX_CUT: Final = 4 * 1024
"""Bytes. What is no larger is an excerpt already."""


def cut(tried: AttemptRecord) -> AttemptRecord:
    """An excerpt of the attempt, marked as such: what it called, and how the answer began."""
    request = msgspec.json.decode(tried.request, type=dict[str, Any]) if tried.request else {}
    kept = {
        # The URL says what was called; it is short by what a URL may be.
        name: value if name == "url" else _cut_value(value)
        for name, value in request.items()
        if name != "headers"
    }
    body = tried.response_body
    return msgspec.structs.replace(
        tried,
        request=msgspec.json.encode({**kept, CUT_MARK: True}).decode(),
        response_headers=None,
        response_body=None if body is None else body[:EXCERPT],
    )


def _cut_value(value: object) -> object:
    """A text's beginning; of anything else that is long, its beginning as JSON."""
    if isinstance(value, str):
        return value[:EXCERPT]
    encoded = msgspec.json.encode(value)
    return value if len(encoded) <= EXCERPT else encoded[:EXCERPT].decode(errors="replace")


def clean(text: str) -> str:
    """Text that the database can hold: no NUL, no halves of surrogate pairs."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def _headers(reply: Reply) -> str:
    """As a JSON list of pairs: a header may come more than once, and order can matter."""
    if "".join([f"{name}{value}" for name, value in reply.headers]).isprintable():
        return msgspec.json.encode(reply.headers).decode()
    pairs = [(clean(name), clean(value)) for name, value in reply.headers]
    return msgspec.json.encode(pairs).decode()
