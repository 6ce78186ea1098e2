"""Events as log lines: `level  lease_taken  shard=3 fence=7`, one line each, on stderr.

The engine never logs; it publishes, and this listens. What happens for every firing is for
`--verbose`: at thousands a second a log would cost more than the firings.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from dataclasses import fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from rota.errors import TemporaryError
from rota.events import Event, HandlerFailed
from rota.telemetry.leases import LEASES, Together

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.events import Bus

_log = logging.getLogger("rota")

_QUIET = frozenset(
    {
        "PassDone",
        "FiringStarted",
        "FiringFinished",
        "FiringsClaimed",
        "FiringsPulled",
        "FiringDetached",
        "FiringPostponed",
        "AlertOpened",
        "AlertClosed",
        "NotificationSent",
    }
)
"""Published for every pass or firing; or a tenant's own business, of which there is much."""
ALARMS = frozenset(
    {
        "FallingBehind",
        "FenceRefused",
        "NodeStoodBack",
        "OutageUnnotified",
        "DatabaseAway",
        "CircuitOpened",
        "ClockStepped",
        "ServiceDelayed",
        "ClaimLost",
        "ClaimWithheld",
        "AttemptStuck",
        "FinishRefused",
        "FiringRescued",
        "FiringOverdue",
        "InstallationAlerted",
        "DeclarationWaits",
        "SchedulesLeft",
        "TaskUnknown",
        "ChildEnded",
        "WebProcessEnded",
    }
)
"""Somebody should know, although nothing of ours has failed. By name: some are defined above us."""
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_VALUE = 300


def start(bus: Bus, *, verbose: bool = False) -> Callable[[], None]:
    """Log the bus's events from now on; returns what ends it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    _log.addHandler(handler)
    _log.setLevel(logging.DEBUG if verbose else logging.INFO)
    _log.propagate = False
    silence_driver()
    end = pass_on(bus, verbose=verbose)

    def stop() -> None:
        end()
        _log.removeHandler(handler)

    return stop


def silence_driver() -> None:
    """The driver logs every try of its pool while the database is away, with a traceback; the
    events say it once."""
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)


def level() -> int:
    """From which level on this process logs: warnings alone where nobody has begun a log."""
    return _log.level if _log.handlers else logging.WARNING


def pass_on(bus: Bus, *, verbose: bool = False) -> Callable[[], None]:
    """Give the events to the logger `rota`, whoever set that up; returns what ends it.

    For programs that have Rota inside them: where their log goes is for them to say.
    """
    leases = Together(_log.log)

    def record(event: Event) -> None:
        if isinstance(event, LEASES):
            leases.add(event)
        else:
            _record(event)

    # What would only be dropped need not even be published.
    unsubscribe = bus.subscribe(Event, record, unless=_is_silent if verbose else _is_quiet)

    def stop() -> None:
        unsubscribe()
        leases.flush()

    return stop


def describe(event: Event) -> str:
    """The event's name and values on one line."""
    values = [f"{each.name}={_value(getattr(event, each.name))}" for each in fields(event)]
    return " ".join([name_of(event), *values])


def name_of(event: Event) -> str:
    """`LeaseTaken` as `lease_taken`."""
    return _WORD.sub("_", type(event).__name__).lower()


def level_of(event: Event) -> int:
    """How much an operator cares."""
    if isinstance(event, HandlerFailed):
        return logging.ERROR
    error = getattr(event, "error", None)
    if error is not None:
        # A text is somebody else's error (a target's), and some pass; any other is a fault of ours.
        passing = not isinstance(error, Exception) or isinstance(error, TemporaryError)
        return logging.WARNING if passing else logging.ERROR
    name = type(event).__name__
    if name in ALARMS:
        return logging.WARNING
    return logging.DEBUG if name in _QUIET else logging.INFO


def _is_quiet(kind: type[Event]) -> bool:
    return kind.__name__ in _QUIET or _is_silent(kind)


def _is_silent(kind: type[Event]) -> bool:
    """A whole batch is no line; each of its firings has one of its own."""
    return kind.__name__ == "OutcomesRecorded"


class _Lines(logging.Formatter):
    """One line per record; the traceback of a fault follows it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")


def _record(event: Event) -> None:
    level = level_of(event)
    if not _log.isEnabledFor(level):
        return
    error = getattr(event, "error", None)
    trace = error if level >= logging.ERROR and isinstance(error, Exception) else None
    _log.log(level, "%s", describe(event), exc_info=trace)


def _value(value: object) -> str:
    """Plain where that cannot be misread, quoted where it could: no text can forge a line."""
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g}s"
        case bool() | int() | float() | UUID() | None:
            return str(value)
        case Exception():
            return json.dumps(f"{type(value).__name__}: {value}"[:_MAX_VALUE])
        case _:
            text = str(value)[:_MAX_VALUE]
            return text if re.fullmatch(r"[\w.:/+-]+", text) else json.dumps(text)
