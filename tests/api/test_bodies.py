"""Request bodies: bounded, JSON, one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.api.conftest import Api, fields_of, made_of, problem

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'"x"', b"null", b"", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000, b'{"a":1}x'],
)
async def test_what_is_not_a_json_object_is_refused(api: Api, content: bytes) -> None:
    answer = await api.http.post("/v1/schedules", content=content, headers=api.headers | JSON)
    problem(answer, 400)
    assert await api.count() == 0


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_must_say_that_it_is_json(api: Api, kind: str) -> None:
    answer = await api.http.post(
        "/v1/schedules", content=b"{}", headers=api.headers | {"Content-Type": kind}
    )
    problem(answer, 415)


async def test_a_payload_of_10_mb_is_too_large_and_named(api: Api) -> None:
    answer = await api.post("/v1/schedules", made_of(payload="x" * 10_000_000))
    problem(answer, 413)
    assert fields_of(answer) == ["payload"]
    assert await api.count() == 0


async def test_a_body_without_a_length_is_bounded_too(api: Api) -> None:
    async def endless() -> AsyncGenerator[bytes]:
        yield b'{"payload": "'
        for _ in range(100):
            yield b"x" * 100_000

    answer = await api.http.post("/v1/schedules", content=endless(), headers=api.headers | JSON)
    problem(answer, 413)


async def test_a_payload_at_the_limit_is_taken(api: Api) -> None:
    made = await api.created(payload="x" * (256 * 1024 - 2))
    assert len(made["payload"]) == 256 * 1024 - 2
