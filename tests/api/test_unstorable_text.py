"""Text that PostgreSQL or UTF-8 cannot hold, in every place that takes text.

It is refused with a sentence or kept faithfully, and never a fault of the server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import pytest
from tests.api.conftest import SCHEDULE
from tests.api.walk import body_of, names_in, path_of

from rota.api import operations

if TYPE_CHECKING:
    import httpx
    from tests.api.conftest import Api

# As JSON writes them: NUL, halves of surrogate pairs alone and turned around, and what is no
# character although it can be written.
ESCAPES = (r"a\u0000b", r"x\ud800", r"\udc00\ud800", r"a\u001fb")
RAW = (b"\x00", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80")

# Waits for work, or never ends, by what it is for.
_LONG = {"claim_firings", "stream_log"}


def _bodies(operation: operations.Operation, fields: set[str], escape: str) -> list[str]:
    """The operation's body with the text in each of its fields, in lists and objects, and as a
    name."""
    base: dict[str, Any] = body_of(operation) or {}
    if operation.name.startswith(("create_schedule", "put_schedule")):
        base = dict(SCHEDULE)
    values = ("@", ["@"], {"@": "x"}, {"x": "@"}, [{"x": {"y": "@"}}])
    made: list[Any] = [{**base, field: value} for field in sorted(fields) for value in values]
    made += [{**base, "@": 1}, "@"]
    return [json.dumps(each).replace("@", escape) for each in made]


def _fields(document: dict[str, Any], operation: operations.Operation) -> set[str]:
    """The names of all fields that the operation's body may have."""
    content = document["paths"][operation.path][operation.method].get("requestBody")
    found: set[str] = set()

    def look(schema: Any, depth: int = 0) -> None:
        for each in cast("list[Any]", schema if isinstance(schema, list) else [schema]):
            if not isinstance(each, dict):
                continue
            parts = cast("dict[str, Any]", each)
            if "$ref" in parts and depth < 4:
                name = parts["$ref"].rsplit("/", 1)[1]
                look(document["components"]["schemas"][name], depth + 1)
            found.update(parts.get("properties", {}))
            for name in ("anyOf", "oneOf", "allOf", "items"):
                look(parts.get(name), depth)

    if content is not None:
        look(next(iter(content["content"].values()))["schema"])
    return found


def _is_answered(answer: httpx.Response) -> bool:
    """Whether the caller got what was asked for, or heard why not."""
    answer.json() if answer.content and "json" in answer.headers["content-type"] else None
    # 503 without keys for secrets: this server has none.
    return answer.status_code < 500 or "ROTA_SECRET_KEYS" in answer.text


@pytest.mark.parametrize("escape", ESCAPES)
async def test_in_any_field_of_any_body_it_is_refused_or_kept(api: Api, escape: str) -> None:
    document = (await api.get("/openapi.json")).json()
    faults: list[tuple[str, str]] = []
    for operation in operations.ALL:
        if operation.name in _LONG or operation.method == "get":
            continue
        for body in _bodies(operation, _fields(document, operation), escape):
            answer = await api.http.request(
                operation.method,
                path_of(operation),
                content=body.encode(),
                headers={**api.headers, "Content-Type": "application/json"},
            )
            if not _is_answered(answer):
                faults.append((operation.name, body))
    assert faults == []


@pytest.mark.parametrize("raw", RAW, ids=[raw.hex() for raw in RAW])
async def test_in_any_path_query_and_header_it_is_refused_or_kept(api: Api, raw: bytes) -> None:
    escaped = quote(raw)
    for operation in operations.ALL:
        if operation.name in _LONG:
            continue
        addresses = [
            path_of(operation, **{name: f"a{escaped}b"}) for name in names_in(operation)
        ] + [f"{path_of(operation).partition('?')[0]}?{name}={escaped}" for name in operation.query]
        for address in addresses:
            answer = await api.http.request(
                operation.method, address, json=body_of(operation), headers=api.headers
            )
            assert _is_answered(answer), (operation.name, address, answer.text)
        if raw != b"\x00":
            for header in (b"Idempotency-Key", b"If-Match", b"Rota-Token", b"Last-Event-ID"):
                answer = await api.http.request(
                    operation.method,
                    path_of(operation),
                    json=body_of(operation),
                    headers=[
                        *((name.encode(), value.encode()) for name, value in api.headers.items()),
                        (header, b"a" + raw),
                    ],
                )
                assert _is_answered(answer), (operation.name, header, answer.text)
    answer = await api.http.get("/v1/schedules", headers=[(b"Authorization", b"Bearer " + raw)])
    assert answer.status_code == 401


async def test_a_payload_comes_back_as_it_was_sent_whatever_it_holds(api: Api) -> None:
    strange = "".join(map(chr, range(1, 0x250))) + "\ufffe\uffff\U0010ffff\\u0000 ￾"
    made = await api.created(payload={"text": strange, strange: [strange]})
    found = (await api.get(f"/v1/schedules/{made['id']}")).json()
    assert found["payload"] == {"text": strange, strange: [strange]}
