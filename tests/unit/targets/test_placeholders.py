"""`${secrets.NAME}` is checked when a schedule is written (S4)."""

from __future__ import annotations

import pytest

from rota.schedules.values import wrong_with_placeholders
from rota.targets import InvalidTarget
from rota.targets.http import HttpTarget

PLAIN = "https://acme.example/hook"


def fields_of(**given: object) -> list[str]:
    with pytest.raises(InvalidTarget) as caught:
        HttpTarget.read(**{"url": PLAIN, **given})  # pyright: ignore[reportArgumentType]
    return [problem.field for problem in caught.value.problems]


@pytest.mark.parametrize(
    "url",
    [
        "https://acme.example/${secrets.A}",
        "https://acme.example/a/${secrets._a9}/b?x=${secrets.B}&y=${secrets.C}",
        "https://acme.example?x=${secrets.B}",
        "https://acme.example:8443/" + "${secrets." + "A" * 64 + "}",
    ],
)
def test_secrets_may_be_in_the_path_and_the_query(url: str) -> None:
    target = HttpTarget.read(url, headers={"X": "Bearer ${secrets.A}"}, body="${secrets.B}")
    assert target.url == url
    assert target.host.startswith("acme.example")


@pytest.mark.parametrize(
    "url",
    [
        "https://${secrets.HOST}/",
        "https://${secrets.HOST}",
        "https://acme.example${secrets.REST}",
        "https://acme.example:${secrets.PORT}/",
        "https://acme.${secrets.A}.example/x",
        "${secrets.URL}",
        "${secrets.SCHEME}://acme.example/",
        "https://user:${secrets.A}@acme.example/",
        "https://acme.example/x#${secrets.A}",
        "https://acme.example/${secrets.}",
        "https://acme.example/${secrets.9a}",
        "https://acme.example/${secrets.a-b}",
        "https://acme.example/${secrets.A",
        "https://acme.example/${secrets}",
        "https://acme.example/${secrets.A.b}",
        "https://acme.example/" + "${secrets." + "A" * 65 + "}",
    ],
)
def test_elsewhere_or_misspelt_they_are_refused(url: str) -> None:
    assert fields_of(url=url) == ["target_url"]


def test_misspelt_ones_in_headers_body_and_payload_are_refused() -> None:
    assert fields_of(headers={"X-Key": "${secrets.a b}"}) == ["headers.X-Key"]
    assert fields_of(body="x ${secrets.} y") == ["body"]
    assert "${secrets.API_KEY}" in (wrong_with_placeholders({"a": ["${secrets.a-b}"]}) or "")
    assert wrong_with_placeholders({"a": ["${secrets.ab}", "$", "${x}"]}) is None
