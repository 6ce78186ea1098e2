"""This API described in OpenAPI 3.1, put together from the operations and the models it uses.

A test compares it with the routes of the application, so neither can have what the other lacks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from rota.api import described, models, views
from rota.api.alerts import Alert
from rota.api.audit import AuditEntry
from rota.api.backfill import Backfilled, BackfillFields
from rota.api.calendars import Calendar, CalendarFields, CalendarSaved
from rota.api.channels import Channel, ChannelChanges, ChannelFields, Notification
from rota.api.circuits import CircuitShown
from rota.api.claiming import ClaimFields, ClaimResult
from rota.api.explaining import Why
from rota.api.figures import ClusterShown, StatsShown
from rota.api.health import Health
from rota.api.keys import KeyFields
from rota.api.monitors import Heard, Pinged, PingFields
from rota.api.pausing import (
    PauseFields,
    PauseOneFields,
    PauseResult,
    ResumeFields,
    ResumeResult,
)
from rota.api.problems import Problem
from rota.api.secrets import Secret, SecretFields
from rota.api.sign_in_links import SignInLink
from rota.api.signing import RotateFields, SigningSecretShown
from rota.api.slot_audit import SlotAudit
from rota.api.slots import PreviewFields, Upcoming
from rota.version import __version__

_DESCRIPTION = (
    "A distributed job scheduler. Send `Authorization: Bearer rota_…`. Everything refused is an "
    "application/problem+json with a `detail` sentence and, for bad fields, a list of `errors`."
)
_STRUCTS = (
    Problem,
    Health,
    Upcoming,
    PreviewFields,
    Why,
    AuditEntry,
    SlotAudit,
    views.Firing,
    views.Attempt,
    views.Tenant,
    views.Key,
    views.NewKey,
    KeyFields,
    SignInLink,
    BackfillFields,
    Backfilled,
    ClaimFields,
    ClaimResult,
    PauseFields,
    PauseOneFields,
    PauseResult,
    ResumeFields,
    ResumeResult,
    models.TriggerFields,
    models.CancelFields,
    models.ReplayFields,
    models.ReplayResult,
    models.CompleteFields,
    models.FailFields,
    models.ExtendFields,
    models.Completion,
    models.BulkResult,
    Calendar,
    CalendarFields,
    CalendarSaved,
    PingFields,
    Pinged,
    Heard,
    Secret,
    SecretFields,
    RotateFields,
    SigningSecretShown,
    CircuitShown,
    StatsShown,
    ClusterShown,
    Channel,
    ChannelFields,
    ChannelChanges,
    Notification,
    Alert,
)


_INSTANT = re.compile(r"(_at|_until|_for|_slot)$|^(now|at|since|until|utc|deadline)$")


@cache
def document() -> dict[str, Any]:
    """The whole document, as JSON values. Not to be changed by whoever gets it."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rota", "version": __version__, "description": _DESCRIPTION},
        "paths": described.paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(_STRUCTS, ref_template=described.REF)
    for name, schema in components.items():
        # What is sent may be written in more ways than what is answered.
        if not name.endswith("Fields"):
            for field, each in schema.get("properties", {}).items():
                if _INSTANT.search(field):
                    _say_instant(each)
    return {**components, **models.schedule_schemas()}


def _say_instant(schema: dict[str, Any]) -> None:
    for each in schema.get("anyOf", [schema]):
        if each.get("type") == "string":
            each["format"] = "date-time"
