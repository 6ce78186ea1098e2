"""Every operation of the API, with what the OpenAPI document says of it."""

from __future__ import annotations

from rota.api.operations.administration import ADMINISTRATION
from rota.api.operations.calendars import CALENDARS
from rota.api.operations.firings import FIRINGS
from rota.api.operations.monitors import MONITORS
from rota.api.operations.operation import (
    AWAY,
    HEADERS,
    KEY,
    LARGE,
    ONCE,
    PARAMETERS,
    PATHS,
    SLOW,
    WRONG,
    Operation,
)
from rota.api.operations.schedules import SCHEDULES
from rota.api.operations.secrets import SECRETS
from rota.api.operations.watching import WATCHING

__all__ = [
    "ALL",
    "AWAY",
    "HEADERS",
    "KEY",
    "LARGE",
    "ONCE",
    "PARAMETERS",
    "PATHS",
    "SLOW",
    "WRONG",
    "Operation",
]

ALL = (*SCHEDULES, *CALENDARS, *MONITORS, *FIRINGS, *SECRETS, *WATCHING, *ADMINISTRATION)
