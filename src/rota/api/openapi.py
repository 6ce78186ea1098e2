"""This API described in OpenAPI 3.1, put together from the operations and the models it uses.

A test compares it with the routes of the application, so neither can have what the other lacks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from rota.api import models, operations, views
from rota.api.backfill import Backfilled, BackfillFields
from rota.api.circuits import CircuitShown
from rota.api.claiming import ClaimFields, ClaimResult
from rota.api.explaining import Why
from rota.api.figures import ClusterShown, StatsShown
from rota.api.health import Health
from rota.api.keys import KeyFields
from rota.api.pausing import PauseFields, PauseResult, ResumeFields, ResumeResult
from rota.api.problems import MEDIA_TYPE, Problem
from rota.api.secrets import Secret, SecretFields
from rota.api.signing import RotateFields, SigningSecretShown
from rota.api.slots import PreviewFields, Upcoming
from rota.version import __version__

_REF = "#/components/schemas/{name}"
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
    views.Firing,
    views.Attempt,
    views.Tenant,
    views.Key,
    views.NewKey,
    KeyFields,
    BackfillFields,
    Backfilled,
    ClaimFields,
    ClaimResult,
    PauseFields,
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
    Secret,
    SecretFields,
    RotateFields,
    SigningSecretShown,
    CircuitShown,
    StatsShown,
    ClusterShown,
)
_PARAMETER = re.compile(r"\{(\w+)\}")


@cache
def document() -> dict[str, Any]:
    """The whole document, as JSON values. Not to be changed by whoever gets it."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rota", "version": __version__, "description": _DESCRIPTION},
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations.ALL:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return paths


def _operation(operation: operations.Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": _responses(operation),
    }
    parameters = [_in_path(name) for name in _PARAMETER.findall(operation.path)]
    parameters += [_in_query(name) for name in operation.query]
    parameters += [_in_header(name) for name in operation.headers]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": not operation.optional_body,
            "content": {"application/json": {"schema": _ref(operation.body)}},
        }
    if operation.scope is not None:
        described["security"] = [{"key": []}]
        described["x-scope"] = operation.scope
    return described


def _responses(operation: operations.Operation) -> dict[str, Any]:
    good: dict[str, Any] = {"description": operation.summary}
    if operation.answer is not None:
        good["content"] = {"application/json": {"schema": _ref(operation.answer)}}
    problem = {"content": {MEDIA_TYPE: {"schema": _ref("Problem")}}}
    bad = {str(status): {"description": words, **problem} for status, words in operation.problems}
    return {str(operation.status): good, **bad}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> dict[str, Any]:
    kind, words = operations.PARAMETERS[name]
    return {"name": name, "in": "query", "description": words, "schema": {"type": kind}}


def _in_header(name: str) -> dict[str, Any]:
    words = operations.HEADERS[name]
    return {"name": name, "in": "header", "description": words, "schema": {"type": "string"}}


def _schemas() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(_STRUCTS, ref_template=_REF)
    return {**components, **models.schedule_schemas()}
