"""Operations as the OpenAPI document has them: parameters, bodies, and every answer they may give.

What follows from an operation's kind is said here once, so that no operation can forget it: whoever
needs a key may be refused for it or be too fast, whoever sends a body may send a wrong one, and
every POST takes an Idempotency-Key.
"""

from __future__ import annotations

import re
from typing import Any, Final

from rota import ids
from rota.api import operations
from rota.api.problems import MEDIA_TYPE

REF: Final = "#/components/schemas/{name}"

_PARAMETER = re.compile(r"\{(\w+)\}")
_KINDS = {f"{kind.name.lower()}_id": kind for kind in ids.Kind}
_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"

_RETRY: Final = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
_HEADERS_OF: Final[dict[int, dict[str, Any]]] = {
    401: {"WWW-Authenticate": {"description": "Bearer.", "schema": {"type": "string"}}},
    429: _RETRY,
    503: _RETRY,
}
_ETAG: Final = {
    "ETag": {"description": "The schedule's version, for If-Match.", "schema": {"type": "string"}}
}
_REPLAYED: Final = {
    "Idempotency-Replayed": {
        "description": "true when this was answered before, and not carried out again.",
        "schema": {"enum": ["true"]},
    }
}


def paths() -> dict[str, Any]:
    """All of them, by path and method."""
    found: dict[str, Any] = {}
    for each in operations.ALL:
        found.setdefault(each.path, {})[each.method] = _operation(each)
    return found


def ref(name: str) -> dict[str, str]:
    """The schema of this name."""
    return {"$ref": REF.format(name=name)}


def id_pattern(kind: ids.Kind) -> str:
    """What an id of this kind looks like."""
    return f"^{kind.value}_{_ULID}$"


def _operation(operation: operations.Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [tag_of(operation)],
        "summary": operation.summary,
        "responses": _responses(operation),
    }
    headers = dict.fromkeys((*operation.headers, *_own_headers(operation)))
    parameters = [_in_path(name, operation) for name in _PARAMETER.findall(operation.path)]
    parameters += [_in_query(name, operation) for name in operation.query]
    parameters += [_in_header(name) for name in headers]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": not operation.optional_body,
            "content": {"application/json": {"schema": _body(operation.body, operation)}},
        }
    if operation.scope is not None:
        described["security"] = [{"key": []}]
        described["x-scope"] = operation.scope
    return described


def _body(name: str, operation: operations.Operation) -> dict[str, Any]:
    # null is as good as nothing where nothing is needed.
    return {"anyOf": [ref(name), {"type": "null"}]} if operation.optional_body else ref(name)


def tag_of(operation: operations.Operation) -> str:
    """What an operation is about, by its path: schedules, firings, keys …"""
    head = operation.path.removeprefix("/v1/").split("/")[0]
    return head if operation.path.startswith("/v1/") else "operating"


def _own_headers(operation: operations.Operation) -> tuple[str, ...]:
    return operations.ONCE if _is_once(operation) else ()


def _is_once(operation: operations.Operation) -> bool:
    # A ping's address is for whoever has nothing but that; pinged twice is pinged.
    return operation.method == "post" and operation.path.startswith("/v1/")


def _responses(operation: operations.Operation) -> dict[str, Any]:
    good: dict[str, Any] = {"description": operation.summary}
    if operation.answer is not None:
        good["content"] = {"application/json": {"schema": ref(operation.answer)}}
    headers = _ETAG if operation.answer == "Schedule" else {}
    if _is_once(operation):
        headers = headers | _REPLAYED
    if headers:
        good["headers"] = headers
    found = {str(status): good for status in (operation.status, *operation.also)}
    return found | {str(status): _problem(status, words) for status, words in _problems(operation)}


def _problem(status: int, words: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": words,
        "content": {MEDIA_TYPE: {"schema": ref("Problem")}},
    }
    if status in _HEADERS_OF:
        described["headers"] = _HEADERS_OF[status]
    return described


def _problems(operation: operations.Operation) -> list[tuple[int, str]]:
    """Those that the operation names, and those that its kind has anyway."""
    usual: list[tuple[int, str]] = [operations.SLOW]
    if operation.scope is not None:
        usual += [*operations.KEY, operations.AWAY]
    if operation.body is not None or operation.method == "post":
        usual += operations.LARGE
    if operation.path.startswith("/v1/"):
        usual.append(operations.WRONG)
    return sorted((dict(usual) | dict(operation.problems)).items())


def _in_path(name: str, operation: operations.Operation) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    pattern = operations.PATHS.get((tag_of(operation), name))
    if name in _KINDS:
        pattern = id_pattern(_KINDS[name])
    if pattern is not None:
        schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(name: str, operation: operations.Operation) -> dict[str, Any]:
    kind, words = operations.PARAMETERS[name]
    schema: dict[str, Any] = {"type": kind} if isinstance(kind, str) else dict(kind)
    if name in operation.choices:
        schema = {"enum": list(operation.choices[name])}
    required = {"required": True} if name in operation.required else {}
    return {"name": name, "in": "query", "description": words, "schema": schema, **required}


def _in_header(name: str) -> dict[str, Any]:
    words, schema = operations.HEADERS[name]
    return {"name": name, "in": "header", "description": words, "schema": schema}
