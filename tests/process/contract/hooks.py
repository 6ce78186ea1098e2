"""What schemathesis cannot know: what there is, and how not to shut oneself out."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4
from zlib import crc32

import schemathesis

if TYPE_CHECKING:
    from schemathesis import Case, HookContext

KNOWN: dict[str, str] = json.loads(os.environ.get("ROTA_CONTRACT_KNOWN", "{}"))
"""Ids of what there is, by the names that paths have for them; and `own_key`, which must stay."""
_NOBODYS = "key_01ARZ3NDEKTSV4RRFFQ69G5FAV"


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType] - untyped there
def before_call(context: HookContext, case: Case[Any], **kwargs: Any) -> None:
    """Aim some requests at what there is, and leave the key and the limits of the caller alone."""
    operation = str(case.operation.definition.raw["operationId"])
    path = case.path_parameters or {}
    if _is_right(case):
        _use_what_there_is(case, operation, path)
    headers = cast("dict[str, Any]", case.headers)
    key = headers.get("Idempotency-Key") if headers else None
    if isinstance(key, str) and 1 <= len(key) <= 255 and key.isascii() and key.isprintable():
        # The same key for another request is refused, as it should be.
        headers["Idempotency-Key"] = uuid4().hex
    if operation == "claim_firings" and isinstance(case.body, dict):
        body = cast("dict[str, Any]", case.body)
        if isinstance(wait := body.get("wait"), int | float) and 0 < wait <= 30:
            body["wait"] = 0.01  # nothing will come
    if operation == "delete_key" and path.get("key_id") == KNOWN.get("own_key"):
        path["key_id"] = _NOBODYS
    if operation == "update_tenant" and isinstance(case.body, dict):
        body = cast("dict[str, Any]", case.body)
        for name in ("request_rate", "create_rate", "max_schedules"):
            if isinstance(body.get(name), int | float):
                body[name] = 1_000_000


def _is_right(case: Case[Any]) -> bool:
    """Whether it is meant to be right by the schema."""
    return case.meta is not None and case.meta.generation.mode.is_positive


def _use_what_there_is(case: Case[Any], operation: str, path: dict[str, Any]) -> None:
    # Three of four, by the content: the same seed makes the same requests.
    if case.method != "DELETE" and crc32(repr((operation, path, case.query)).encode()) % 4:
        path.update({name: KNOWN[name] for name in path if name in KNOWN})
    for name in ("cursor", "since", "until", "after", "tenant"):
        # What these are cannot be said in JSON Schema: anything else would be refused for them.
        (case.query or {}).pop(name, None)
