"""A clock that moves only when the kit moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rota.workers.tasks.exceptions import length


class KitClock:
    """Virtual time. `now()` is an aware UTC datetime: give it to code that asks for the time."""

    def __init__(self, start: datetime) -> None:
        self._start = self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        """Seconds since the kit was made."""
        return (self._now - self._start).total_seconds()

    def move(self, to: datetime) -> None:
        """For the kit. Time never goes back."""
        self._now = max(self._now, to)


def instant(given: datetime | str) -> datetime:
    """An aware UTC instant of what a test writes; ValueError for what is none."""
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ValueError(
            f'expected an instant such as "2026-03-01T00:00Z", got {given!r}'
        ) from None
    if found.tzinfo is None:
        raise ValueError(
            f'expected an instant with a zone, such as "{found.isoformat()}Z", got none'
        )
    return found.astimezone(UTC)


def span(given: timedelta | float | str | None, units: dict[str, float]) -> timedelta:
    """A length of time: `advance("90m")`, `advance(hours=1, minutes=30)`, a timedelta, seconds."""

    if given is not None and units:
        raise TypeError("expected a length of time, or hours=…, minutes=…, got both")
    if given is None and not units:
        raise TypeError("expected a length of time, such as hours=24, got none")
    return length(timedelta(**units) if given is None else given)
