"""What a reply means for its firing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from rota.queue import retry

if TYPE_CHECKING:
    from rota.queue.states import Status
    from rota.schedules.definition import Definition
    from rota.workers.calls import Reply

RETRIED_CODES: Final = frozenset({408, 425, 429})
"""Refusals that say "later"; every other 4xx would say the same again."""

MAX_RETRY_AFTER: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """It ends with a status, or is tried again after a delay."""

    outcome: str
    """Of the attempt."""
    status: Status | None = None
    reason: str | None = None
    delay: timedelta | None = None


def judge(reply: Reply, *, attempt: int, definition: Definition, now: datetime) -> Verdict:
    """2xx is success; 5xx, 408, 425, 429 and no answer are tried again; anything else is final.

    So is the last attempt, and the only one of what is delivered at most once: an attempt that
    failed may still have arrived.
    """
    if reply.ok:
        return Verdict(outcome="succeeded", status="succeeded")
    outcome = "timed_out" if reply.timed_out else "failed"
    what = _what(reply)
    if not _passing(reply):
        return Verdict(outcome=outcome, status="dead", reason=what)
    if definition.delivery == "at_most_once":
        return Verdict(outcome=outcome, status="dead", reason=f"{what}, delivered at most once")
    if attempt >= definition.max_attempts:
        tries = f"{attempt} attempt{'s' if attempt > 1 else ''}"
        return Verdict(outcome=outcome, status="dead", reason=f"{what}, after {tries}")
    return Verdict(outcome=outcome, delay=_delay(reply, attempt, definition, now))


def retry_after(reply: Reply, now: datetime) -> timedelta:
    """How long the target asked to be left alone: seconds, or a date; nothing when unreadable."""
    value = next((v for name, v in reply.headers if name.lower() == "retry-after"), "").strip()
    if value.isascii() and value.isdecimal():
        return timedelta(seconds=min(int(value[:9]), MAX_RETRY_AFTER.total_seconds()))
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return timedelta()
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(timedelta(), min(at - now, MAX_RETRY_AFTER))


def _passing(reply: Reply) -> bool:
    """Whether another attempt may do better; also after a 2xx whose body broke off."""
    code = reply.code
    return code is None or code >= 500 or code in RETRIED_CODES or reply.is_2xx


def _delay(reply: Reply, attempt: int, definition: Definition, now: datetime) -> timedelta:
    backoff = retry.delay(
        definition.backoff,
        failures=attempt,
        base=definition.backoff_delay,
        longest=definition.backoff_max,
    )
    return max(backoff, retry_after(reply, now))


def _what(reply: Reply) -> str:
    if reply.code is None:
        return reply.error or "failed"
    if 300 <= reply.code < 400:
        return f"HTTP {reply.code}: redirects are not followed"
    return f"HTTP {reply.code}, {reply.error}" if reply.error else f"HTTP {reply.code}"
