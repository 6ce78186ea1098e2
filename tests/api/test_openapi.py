"""`/openapi.json` and `/docs`: what they say is what there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rota.api import openapi
from rota.api.access import scope_of
from rota.api.app import ROUTES

if TYPE_CHECKING:
    import httpx

_UNDOCUMENTED = {("get", "/openapi.json"), ("get", "/docs"), ("get", "/metrics")}


def _routes() -> dict[tuple[str, str], str | None]:
    return {
        (method.lower(), re.sub(r":\w+}", "}", path)): scope_of(handler.opt)
        for handler in ROUTES
        for path in handler.paths
        for method in handler.http_methods
        if method in {"GET", "POST", "PUT", "PATCH", "DELETE"}
    }


def _documented() -> dict[tuple[str, str], str | None]:
    return {
        (method, path): operation.get("x-scope")
        for path, methods in openapi.document()["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_is_described_with_its_scope_and_nothing_else_is() -> None:
    routes = {key: scope for key, scope in _routes().items() if key not in _UNDOCUMENTED}
    assert routes == _documented()


def test_every_reference_leads_somewhere() -> None:
    document = openapi.document()
    schemas = document["components"]["schemas"]
    found = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(document)))
    assert found
    assert found <= schemas.keys()


async def test_it_is_served_without_a_key_as_openapi_3_1(http: httpx.AsyncClient) -> None:
    answer = await http.get("/openapi.json")
    body: dict[str, Any] = answer.json()
    assert body["openapi"].startswith("3.1")
    assert body["paths"]["/v1/schedules"]["post"]["responses"]["201"]


async def test_the_readable_page_needs_nothing_from_outside(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"(src|href|url\(|@import)[=\s\"']*(https?:)?//", answer.text)
    assert "<script" not in answer.text
    linked = set(re.findall(r'href="#(\w+)"', answer.text))
    assert linked
    assert linked <= set(re.findall(r'id="(\w+)"', answer.text))
    assert "/v1/schedules/{schedule_id}/why" in answer.text


def test_every_operation_with_a_key_says_how_it_may_be_refused() -> None:
    """AP, S12: for a key, for its rights, for being too fast with a Retry-After, or for now."""
    for path, methods in openapi.document()["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            if "x-scope" in operation:
                assert {"401", "403", "422", "429", "503"} <= answers.keys(), (method, path)
                assert "Retry-After" in answers["429"]["headers"]
            for status, answer in answers.items():
                if status >= "400" and "application/json" not in answer.get("content", {}):
                    assert "application/problem+json" in answer["content"], (method, path, status)


def test_every_post_takes_an_idempotency_key() -> None:
    for path, methods in openapi.document()["paths"].items():
        if "post" in methods and path.startswith("/v1/"):
            names = {each["name"] for each in methods["post"]["parameters"]}
            assert "Idempotency-Key" in names, path
