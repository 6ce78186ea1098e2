"""What the end of an attempt says of its host. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from rota.workers.outcome import retry_after

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.circuits import Heard
    from rota.workers.caller import Reply

Sign = Literal["answered", "failed", "void"]
"""`void` says nothing: the attempt was broken off by us, or never reached the host."""

LONG_TIMEOUT: Final = timedelta(seconds=10)
"""A host that has not answered within it would not have answered others either, perhaps."""

_BROKEN_OFF = frozenset({"cancelled", "interrupted"})
_MAX_ERROR = 200
_NOTHING = timedelta()


def sign_of(reply: Reply, outcome: str) -> Sign:
    """No answer, half an answer, 5xx and 429 are failures; any other code is a host that answers.

    What the schedule calls a success is one, whatever its code.
    """
    if outcome in _BROKEN_OFF or reply.permanent or reply.stale_connection or not reply.sent:
        return "void"
    if outcome == "succeeded":
        return "answered"
    code = reply.code
    if reply.error is not None or code is None or code >= 500 or code == 429:
        return "failed"
    return "answered"


def is_shared(reply: Reply, timeout: timedelta) -> bool:
    """Whether other tenants may see this failure too.

    Not a time-out that the caller chose to be short. Whatever comes after the connection (a 5xx, a
    429, a reset, TLS that does not fit) depends on the caller's path or scheme as well, and even a
    refused connection does where the host's name stands for two ports. So it says something of the
    host only when a second tenant sees the same; a refusal of one port says it alone.
    """
    return not reply.timed_out or timeout >= LONG_TIMEOUT


def is_refused(reply: Reply, host: str) -> bool:
    """Whether the port that everybody calls under this name took no connection.

    A name without a port is that of http and of https alike, which are two ports.
    """
    return reply.refused and ":" in host.rpartition("]")[2]


def add(
    heard: Heard,
    sign: Sign,
    reply: Reply | None,
    *,
    is_probe: bool,
    now: datetime,
    shared: bool = False,
    refused: bool = False,
) -> None:
    """Put one more attempt to what was heard before it, in the order in which they ended."""
    if is_probe:
        heard.probe = sign
    if sign == "answered":
        heard.answered = True
        heard.failures = heard.shared = heard.refused = 0
        heard.retry_after = _NOTHING
    elif sign == "failed" and reply is not None:
        heard.failures += 1
        heard.shared += shared
        heard.refused += refused
        heard.error = _described(reply)
        heard.retry_after = max(heard.retry_after, retry_after(reply, now))


def _described(reply: Reply) -> str:
    if reply.code is not None:
        return f"HTTP {reply.code}"
    return (reply.error or "no answer")[:_MAX_ERROR]
