"""What a decorator may be told beside when and who: the fields of the API, for Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from rota import durations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Length = timedelta | int | float | str
"""A length of time: a timedelta, seconds, or text such as "90s" or "1h30m"."""
Instant = datetime | str

#: What Python programmers write for a field whose unit is in its name elsewhere.
ALIASES = {
    "timeout": "timeout_seconds",
    "jitter": "jitter_seconds",
    "fire_window": "fire_window_seconds",
}


class Policies(TypedDict, total=False):
    """For tasks and schedules alike."""

    description: str
    tags: Sequence[str]
    delivery: Literal["at_least_once", "at_most_once"]
    timeout: Length
    max_attempts: int
    backoff: Literal["exponential", "linear", "fixed"]
    backoff_delay: Length
    backoff_max: Length
    retry_window: Length
    priority: int
    capture: Literal["all", "failures", "none"]


class SchedulePolicies(Policies, total=False):
    """For schedules alone."""

    payload: Any
    """The arguments: a list, an object of keyword arguments, or one value."""
    overlap_policy: Literal["skip", "queue", "cancel_previous", "allow"]
    start_at: Instant
    end_at: Instant
    max_firings: int
    misfire_policy: Literal["fire_late", "fire_most_recent", "skip"]
    misfire_cap: int
    misfire_grace: Length
    misfire_window: Length
    jitter: Length
    fire_window: Length
    enabled: bool


def length(given: Length) -> timedelta:
    """As a timedelta; ValueError for what is none."""
    if isinstance(given, timedelta):
        return given
    return durations.parse(given) if isinstance(given, str) else timedelta(seconds=given)


def fields_of(policies: Mapping[str, Any]) -> dict[str, Any]:
    """As the API takes them; what was left out, or is None, is left to the usual."""
    return {
        ALIASES.get(name, name): _plain(value)
        for name, value in policies.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        # Without a zone of its own it is read in the schedule's.
        return value.isoformat()
    if isinstance(value, tuple | set | frozenset):
        return list(cast("tuple[Any, ...]", value))
    return value
