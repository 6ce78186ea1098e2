"""`/openapi.json` for programs and `/docs` for people: the same document, no outside asset."""

import html
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from litestar import MediaType, Response, get

from rota.api import access, openapi

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }
nav { columns: 20rem } nav ul { margin: 0 0 1rem; padding: 0; break-inside: avoid }
nav li { list-style: none } h2 { border-bottom: 1px solid #8886; margin-top: 3rem }
h3 { margin: 2rem 0 0.5rem; font-size: 1rem } .method { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse; margin: 0.5rem 0; width: 100% }
td { vertical-align: top; padding: 0.15rem 1rem 0.15rem 0; border-top: 1px solid #8883 }
td:first-child { width: 14rem } td:nth-child(2) { width: 14rem }
.dim { color: #888; font-weight: normal; font-size: 0.85rem }
"""
_REQUIRED = "<span class=dim>required</span>"
_TICKS = re.compile(r"`([^`]*)`")


@get("/openapi.json", opt=access.PUBLIC, media_type=MediaType.JSON)
async def openapi_json() -> dict[str, Any]:
    """This API, described in OpenAPI 3.1."""
    return openapi.document()


@get("/docs", opt=access.PUBLIC)
async def docs() -> Response[str]:
    """This API, described for people."""
    return Response(
        page(),
        media_type=MediaType.HTML,
        headers={"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"},
    )


@cache
def page() -> str:
    """The whole page: what there is, by what it is about, then every shape that is sent or got."""
    document = openapi.document()
    info, schemas = document["info"], document["components"]["schemas"]
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method, path, operation))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{_text(info['title'])} API</title>"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{_text(info['title'])} {_text(info['version'])}</h1>"
        f"<p>{_words(info['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>'
        f"<nav>{''.join(_contents(name, found) for name, found in groups.items())}</nav>"
        f"{''.join(_group(name, found) for name, found in groups.items())}"
        f'<h2 id="shapes">Shapes</h2>{"".join(_shape(n, schemas[n]) for n in sorted(schemas))}'
        "</html>"
    )


def _contents(name: str, group: list[tuple[str, str, dict[str, Any]]]) -> str:
    links = "".join(
        f'<li><a href="#{_text(operation["operationId"])}">'
        f"<code>{method.upper()} {_text(path)}</code></a></li>"
        for method, path, operation in group
    )
    return f"<ul><li><b>{_text(name)}</b></li>{links}</ul>"


def _group(name: str, group: list[tuple[str, str, dict[str, Any]]]) -> str:
    return f"<h2>{_text(name)}</h2>{''.join(_operation(*each) for each in group)}"


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    scope = operation.get("x-scope")
    needs = f'<span class="dim">scope: {_text(scope)}</span>' if scope else ""
    return (
        f'<h3 id="{_text(operation["operationId"])}">'
        f'<span class="method">{_text(method.upper())}</span> <code>{_text(path)}</code> {needs}'
        f"</h3><p>{_words(operation['summary'])}</p>"
        f"{_parameters(operation)}{_body(operation)}{_answers(operation)}"
    )


def _parameters(operation: dict[str, Any]) -> str:
    return _table(
        (
            f"<code>{_text(each['name'])}</code> <span class=dim>{_text(each['in'])}</span>",
            _kind(each["schema"]),
            _words(each.get("description", "")),
        )
        for each in operation.get("parameters", [])
    )


def _body(operation: dict[str, Any]) -> str:
    body = operation.get("requestBody")
    if body is None:
        return ""
    schema = body["content"]["application/json"]["schema"]
    word = "Body" if body["required"] else "Body, if any"
    return f"<p>{word}: {_kind(schema)}</p>"


def _answers(operation: dict[str, Any]) -> str:
    good: list[str] = []
    bad: list[str] = []
    for status, each in operation["responses"].items():
        schema = each.get("content", {}).get("application/json", {}).get("schema")
        if schema is not None or status.startswith("2"):
            good.append(f"{status} {_kind(schema) if schema else ''}".strip())
        else:
            bad.append(f'<span title="{_text(each["description"])}">{status}</span>')
    refused = f' <span class="dim">or a problem: {", ".join(bad)}</span>' if bad else ""
    return f"<p>Answer: {', '.join(good)}{refused}</p>"


def _shape(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = (
        (
            f"<code>{_text(field)}</code> {_REQUIRED if field in required else ''}",
            _kind(each),
            _words(each.get("description", "")),
        )
        for field, each in schema.get("properties", {}).items()
    )
    words = _words(schema.get("description", ""))
    return f'<h3 id="{_text(name)}"><code>{_text(name)}</code></h3><p>{words}</p>{_table(rows)}'


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words: `integer, 1 to 100`, `one of a, b`, `list of Firing`, or a link."""
    if "$ref" in schema:
        name = _text(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}"><code>{name}</code></a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return f"one of {_text(', '.join(map(str, schema['enum'])))}"
    kind = schema.get("type", "any JSON")
    if kind == "array":
        items = schema.get("items")
        return f"list of {_kind(items)}" if isinstance(items, dict) else "list"  # pyright: ignore[reportUnknownArgumentType] - JSON
    words = str(" or ".join(kind) if isinstance(kind, list) else kind)  # pyright: ignore[reportUnknownArgumentType] - JSON
    return _text(", ".join(filter(None, (schema.get("format", words), _bounds(schema)))))


def _bounds(schema: dict[str, Any]) -> str:
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    unit = " characters" if "maxLength" in schema else ""
    if low is not None and high is not None:
        return f"{low:,} to {high:,}{unit}"
    return f"up to {high:,}{unit}" if high is not None else ""


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    found = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table>{found}</table>" if found else ""


def _words(value: object) -> str:
    """Text in which `this` is code."""
    return _TICKS.sub(r"<code>\1</code>", _text(value))


def _text(value: object) -> str:
    return html.escape(str(value))
