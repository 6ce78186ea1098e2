"""What a reply means for its firing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rota import durations
from rota.queue import retry
from rota.schedules.codes import closeness

if TYPE_CHECKING:
    from rota.queue.states import Status
    from rota.schedules.codes import Codes
    from rota.schedules.definition import Definition
    from rota.workers.caller import Reply

ACCEPTED: Final = 202
ASYNC_HEADER: Final = "rota-async"
CONFLICT: Final = 409
GONE: Final = 410

MAX_RETRY_AFTER: Final = timedelta(days=1)
_NOTHING = timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """It ends with a status, is tried again after a delay, or is left to its target for a while."""

    outcome: str
    """Of the attempt."""
    status: Status | None = None
    reason: str | None = None
    delay: timedelta | None = None
    detach: timedelta | None = None
    gone: bool = False
    """The target says that it is no more: its schedule is to be paused (S13, S18)."""


_SUCCEEDED: Final = Verdict(outcome="succeeded", status="succeeded")


def judge(
    reply: Reply,
    *,
    attempt: int,
    definition: Definition,
    began_at: datetime,
    now: datetime,
    has_token: bool = False,
) -> Verdict:
    """What the schedule's lists and limits make of a reply.

    Success is what `success_on` names. What `retry_on` names, no answer at all, and a success whose
    body broke off are tried again; anything else is final. So is the last attempt, one whose turn
    would come after the retry window, and the only one of what is delivered at most once: an
    attempt that failed may still have arrived. A target that takes the work on (202, Rota-Async)
    has as long as the schedule says, if it was given a token to complete it with.
    """
    if _takes_it_on(reply):
        return _taken_on(definition, has_token=has_token)
    if succeeded(reply, definition):
        return _SUCCEEDED
    if reply.stale_connection:
        # Neither an answer nor a refusal. The target may have had it, so it is an attempt of its
        # own, and the next follows at once, on a new connection, even after the last one.
        return Verdict(outcome="failed", delay=_NOTHING)
    if reply.discarded:
        return Verdict(outcome="cancelled", status="cancelled", reason=reply.error)
    left = began_at + definition.retry_window - now
    delay = _delay(reply, attempt, definition, now, left)
    outcome = "timed_out" if reply.timed_out else "failed"
    final = _final(reply, attempt, definition, too_late=delay > left)
    if final is None:
        return Verdict(outcome=outcome, delay=delay)
    gone = reply.code == GONE and not _may_pass(reply, definition)
    return Verdict(outcome=outcome, status="dead", reason=final, gone=gone)


def succeeded(reply: Reply, definition: Definition) -> bool:
    """Whether a call did what it should. One that has no code, a task's, has returned."""
    if reply.error is not None:
        return False
    return reply.code is None or _is_success(reply.code, definition)


def retry_after(reply: Reply, now: datetime) -> timedelta:
    """How long the target asked to be left alone: seconds, or a date; nothing when unreadable."""
    value = reply.header("retry-after").strip()
    if value.isascii() and value.isdecimal():
        return timedelta(seconds=min(int(value[:9]), MAX_RETRY_AFTER.total_seconds()))
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return _NOTHING
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(_NOTHING, min(at - now, MAX_RETRY_AFTER))


def _takes_it_on(reply: Reply) -> bool:
    wants = reply.code == ACCEPTED and reply.error is None
    return wants and reply.header(ASYNC_HEADER).strip().lower() == "true"


def _taken_on(definition: Definition, *, has_token: bool) -> Verdict:
    if has_token:
        return Verdict(outcome="accepted", detach=definition.async_timeout)
    why = "HTTP 202 with Rota-Async, but without a key ring there is no token to complete it by"
    return Verdict(outcome="failed", status="dead", reason=why)


def _is_success(code: int, definition: Definition) -> bool:
    return _is_named(code, definition.success_on, definition.retry_on)


# A few lists, and a few codes: asked for every reply.
@lru_cache(maxsize=1_000)
def _is_named(code: int, success_on: Codes, retry_on: Codes) -> bool:
    """A code that is named by itself is an exception to the class that is named."""
    return closeness(success_on, code) > closeness(retry_on, code)


def _may_pass(reply: Reply, definition: Definition) -> bool:
    """Whether another attempt may do better."""
    code = reply.code
    if reply.permanent:
        return False
    if code is None or _is_success(code, definition):
        return True  # no answer, or a good one that broke off
    if code == CONFLICT and reply.header("retry-after"):
        return True  # the firing is being handled right now: what `rota.receiver` answers
    return closeness(definition.retry_on, code) > 0


def _delay(
    reply: Reply, attempt: int, definition: Definition, now: datetime, left: timedelta
) -> timedelta:
    """The schedule's backoff, or what the target asked for, but within what is left of the window:
    a target that asks for more gets one last attempt at the window's end. What a task asks for is
    taken as it is."""
    if reply.retry_in is not None:
        return max(_NOTHING, min(reply.retry_in, left))
    backoff = retry.delay(
        definition.backoff,
        failures=attempt,
        base=definition.backoff_delay,
        longest=definition.backoff_max,
    )
    return max(backoff, min(retry_after(reply, now), left))


def _final(reply: Reply, attempt: int, definition: Definition, *, too_late: bool) -> str | None:
    """Why a failure is not tried again; None when it is."""
    what = _what(reply)
    if not _may_pass(reply, definition):
        return what
    if definition.delivery == "at_most_once":
        return f"{what}, delivered at most once"
    if attempt >= definition.max_attempts:
        return f"{what}, after {attempt} attempt{'s' if attempt > 1 else ''}"
    if too_late:
        window = durations.compact(definition.retry_window)
        return f"{what}, and the retry window of {window} is over"
    return None


def _what(reply: Reply) -> str:
    code = reply.code
    if code is None:
        return reply.error or "failed"
    if 300 <= code < 400:
        return f"HTTP {code}: redirects are not followed"
    if code == GONE:
        return f"HTTP {code}: the target is gone"
    return f"HTTP {code}, {reply.error}" if reply.error else f"HTTP {code}"
