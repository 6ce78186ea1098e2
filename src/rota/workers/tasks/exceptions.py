"""What a task raises to say how its run should end, and what it is told when it should."""

from __future__ import annotations

from datetime import timedelta

from rota import durations

__all__ = ["Cancelled", "Discard", "Retry"]


class Retry(Exception):
    """Raise it to be tried again: after `after`, or by the task's backoff without it.

    It counts as an attempt like any other failure: the last one ends the firing as dead.
    """

    def __init__(
        self,
        reason: str = "the task asked for another attempt",
        *,
        after: timedelta | float | str | None = None,
    ) -> None:
        self.reason = reason
        self.after = None if after is None else length(after)
        super().__init__(reason)


class Discard(Exception):
    """Raise it to end the firing at once: nothing is tried again, and nobody is alarmed.

    The firing ends as cancelled, with the reason. What ought to alarm somebody is a failure: raise
    any other exception.
    """

    def __init__(self, reason: str = "the task discarded it") -> None:
        self.reason = reason
        super().__init__(reason)


class Cancelled(BaseException):
    """Raised by `Context.check` when the run is to end: cancelled, late, or its worker stops.

    Not an `Exception`, so that a broad `except` of the task's own does not swallow it.
    """


def length(given: timedelta | float | str) -> timedelta:
    """A length of time, given as a timedelta, as seconds, or as text such as "10m"."""
    if isinstance(given, str):
        return durations.parse(given)
    found = given if isinstance(given, timedelta) else timedelta(seconds=given)
    if found < timedelta():
        raise ValueError(f"expected a length of time, got {given}, which is negative")
    return found
