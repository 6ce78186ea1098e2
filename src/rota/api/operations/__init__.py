"""Every operation of the API, with what the OpenAPI document says of it."""

from __future__ import annotations

from rota.api.operations.administration import ADMINISTRATION
from rota.api.operations.firings import FIRINGS
from rota.api.operations.operation import HEADERS, PARAMETERS, Operation
from rota.api.operations.schedules import SCHEDULES
from rota.api.operations.secrets import SECRETS

__all__ = ["ALL", "HEADERS", "PARAMETERS", "Operation"]

ALL = (*SCHEDULES, *FIRINGS, *SECRETS, *ADMINISTRATION)
