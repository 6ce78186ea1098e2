"""`/openapi.json` for programs and `/docs` for people: the same document, no outside asset."""

import html
from typing import Any

from litestar import MediaType, Response, get

from rota.api import access, openapi

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }
h2 { margin-top: 2rem; font-size: 1.1rem } .method { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse } td, th { text-align: left; padding: 0.1rem 1rem 0.1rem 0 }
.scope { color: #666; font-weight: normal; font-size: 0.85rem }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } }
"""


@get("/openapi.json", opt=access.PUBLIC, media_type=MediaType.JSON)
async def openapi_json() -> dict[str, Any]:
    """This API, described in OpenAPI 3.1."""
    return openapi.document()


@get("/docs", opt=access.PUBLIC)
async def docs() -> Response[str]:
    """This API, described for people."""
    return Response(
        _page(openapi.document()),
        media_type=MediaType.HTML,
        headers={"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"},
    )


def _page(document: dict[str, Any]) -> str:
    info = document["info"]
    sections = [
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{_text(info['title'])}</title>"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{_text(info['title'])} {_text(info['version'])}</h1>"
        f"<p>{_text(info['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>'
        f"{''.join(sections)}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    scope = operation.get("x-scope")
    needs = f'<span class="scope">scope: {_text(scope)}</span>' if scope else ""
    statuses = ", ".join(operation["responses"])
    return (
        f'<h2><span class="method">{_text(method.upper())}</span> <code>{_text(path)}</code>'
        f" {needs}</h2><p>{_text(operation['summary'])}</p>"
        f"{_parameters(operation)}{_body(operation)}"
        f"<p>Answers: {_text(statuses)}</p>"
    )


def _parameters(operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(each['name'])}</code></td><td>in {_text(each['in'])}</td>"
        f"<td>{_text(each.get('description', ''))}</td></tr>"
        for each in operation.get("parameters", [])
    )
    return f"<table>{rows}</table>" if rows else ""


def _body(operation: dict[str, Any]) -> str:
    body = operation.get("requestBody")
    if body is None:
        return ""
    schema = body["content"]["application/json"]["schema"]
    name = str(schema.get("$ref", "JSON")).rpartition("/")[2]
    return f"<p>Body: <code>{_text(name)}</code></p>"


def _text(value: object) -> str:
    return html.escape(str(value))
