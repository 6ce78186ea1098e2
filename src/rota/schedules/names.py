"""The names of an API's fields, and what to say to a name that is none of them. Pure."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rota.targets.errors import Problem, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TIMED = ("cron_expr", "interval", "run_at", "rrule", "text")
#: They fire when something happens, not at an instant: no timer, no slots, no limits.
UNTIMED = ("after", "monitor", "on_demand")
TRIGGERS = (*TIMED, *UNTIMED)
LIMITS = ("start_at", "end_at", "max_firings")
FRAME = ("timezone", *LIMITS)
TARGETS = ("target_url", "job_type", "stream", "celery_task", "steps")
#: What belongs to one kind of target and means nothing to another.
HTTP_ONLY = ("method", "headers", "body", "success_on", "retry_on", "async_timeout_seconds")
TASK_ONLY = ("queue",)
_OWN = {"target_url": HTTP_ONLY, "job_type": TASK_ONLY, "celery_task": TASK_ONLY}

FIELDS = frozenset(
    (
        *("name", "key", "description", "tags"),
        *TRIGGERS,
        *FRAME,
        "calendar",
        *TARGETS,
        *HTTP_ONLY,
        *TASK_ONLY,
        *("payload", "idempotency_key"),
        *("misfire_policy", "misfire_cap", "misfire_grace", "misfire_window"),
        *("overlap_policy", "delivery"),
        *("timeout_seconds", "max_attempts", "backoff", "backoff_delay", "backoff_max"),
        "retry_window",
        *("priority", "jitter_seconds", "fire_window_seconds", "capture"),
        "enabled",
    )
)

READ_ONLY = frozenset(
    (
        *("id", "status", "status_reason", "paused_until"),
        *("version", "created_at", "updated_at", "created_by", "updated_by"),
        *("next_fire_at", "next_due_at", "last_fire_at", "last_status", "warnings"),
        *("monitor_state", "expected_at", "last_ping_at", "ping_url"),
    )
)

# What other schedulers call the same thing.
_ELSEWHERE = {
    "cron": "cron_expr",
    "cron_expression": "cron_expr",
    "schedule": "cron_expr",
    "every": "interval",
    "at": "run_at",
    "when": "text",
    "depends_on": "after",
    "manual": "on_demand",
    "tz": "timezone",
    "time_zone": "timezone",
    "url": "target_url",
    "target": "target_url",
    "webhook_url": "target_url",
    "task": "job_type",
    "job_payload": "payload",
    "data": "payload",
    "max_retries": "max_attempts",
    "retries": "max_attempts",
    "success_codes": "success_on",
    "retry_codes": "retry_on",
    "max_retry_time": "retry_window",
    "timeout": "timeout_seconds",
    "jitter": "jitter_seconds",
    "fire_window": "fire_window_seconds",
    "overlap": "overlap_policy",
    "misfire": "misfire_policy",
    "paused": "enabled",
    "holidays": "calendar",
    "heartbeat": "monitor",
    "calendars": "calendar",
}
_HINTS = {"every": ' Write the unit, such as "60s" or "60000ms": a number alone is seconds'}
MAX_UNKNOWN: Final = 8
"""Unknown names that are told one by one: for each, a near one is looked for."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=16)
def foreign(target: str | None) -> dict[str, str]:
    """The fields that mean nothing to this kind of target, each with the kinds it belongs to."""
    own = () if target is None else _OWN.get(target, ())
    return {
        name: " or ".join(kind for kind, names in _OWN.items() if name in names)
        for name in (*HTTP_ONLY, *TASK_ONLY)
        if name not in own
    }


def unknown(names: Iterable[str]) -> Iterator[Problem]:
    """A problem for every name that cannot be given; of many, for the first few."""
    wrong = sorted(set(names) - FIELDS)
    if len(wrong) > MAX_UNKNOWN:
        most = f"Expected fields that there are, got {len(wrong):,} that there are not"
        yield Problem(wrong[0][:60], most)
    for name in wrong[:MAX_UNKNOWN]:
        shown = name[:60]
        if name in READ_ONLY:
            yield Problem(shown, f"Invalid {shown}: it is set by Rota; leave it out")
        else:
            yield Problem(shown, f"Unknown field {show(name)}{_meant(name)}")


def _meant(name: str) -> str:
    if len(name) > 60:
        return ""
    plain = _HUMP.sub("_", name).lower().replace("-", "_")
    if plain in FIELDS:
        return f": did you mean {plain}?"
    if plain in _ELSEWHERE:
        return f": did you mean {_ELSEWHERE[plain]}?{_HINTS.get(plain, '')}"
    near = difflib.get_close_matches(plain, sorted(FIELDS), n=1, cutoff=0.7)
    return f": did you mean {near[0]}?" if near else ""
