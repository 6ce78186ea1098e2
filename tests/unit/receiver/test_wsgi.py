"""What only WSGI has: answers made while they are sent, input without a length."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.receiver.signed import NOW, SECRET, headers

from rota.clock import ManualClock
from rota.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Generator

BODY = b"{}"


def receiver() -> Receiver:
    return Receiver(secrets=[SECRET], clock=ManualClock(NOW))


def call(
    app: Any, *, length: str | None = "2", more: dict[str, Any] | None = None
) -> tuple[list[str], Any]:
    """The status lines said so far, and the answer that is still to be read."""
    found = {f"HTTP_{k.upper().replace('-', '_')}": v for k, v in headers(BODY).items()}
    environ = {
        "REQUEST_METHOD": "POST",
        "wsgi.input": io.BytesIO(BODY),
        **found,
        **(more or {}),
    }
    if length is not None:
        environ["CONTENT_LENGTH"] = length
    said: list[str] = []

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
        said.append(status)

    return said, app(environ, start_response)


def parts(environ: Any, start_response: Any) -> Generator[bytes]:
    start_response("200 OK", [])
    yield b"a"
    yield b"b"


def listed(environ: Any, start_response: Any) -> list[bytes]:
    start_response("204 No Content", [])
    return [b""]


def test_an_answer_that_was_not_made_to_its_end_does_not_count() -> None:
    guarded = receiver().wsgi(parts)
    _, answer = call(guarded)
    assert [next(answer), next(answer)] == [b"", b"a"]
    answer.close()
    said, answer = call(guarded)
    assert b"".join(answer) == b"ab"
    assert said == ["200 OK"]
    assert b"".join(call(guarded)[1]) == b""


def test_the_firing_is_settled_before_the_last_part_leaves() -> None:
    guarded = receiver().wsgi(parts)
    _, answer = call(guarded)
    assert [next(answer) for _ in range(3)] == [b"", b"a", b"b"]
    assert list(call(guarded)[1]) == [b""]
    assert list(answer) == []


def test_an_answer_that_is_there_counts_even_if_nobody_reads_it() -> None:
    guarded = receiver().wsgi(listed)
    call(guarded)
    said, answer = call(guarded)
    assert (said, list(answer)) == (["200 OK"], [b""])


def test_while_an_answer_is_made_its_firing_is_busy() -> None:
    guarded = receiver().wsgi(parts)
    _, answer = call(guarded)
    assert [next(answer), next(answer)] == [b"", b"a"]
    said, _ = call(guarded)
    assert said == ["409 Conflict"]


def test_an_exception_on_the_way_leaves_the_firing_free() -> None:
    def broken(environ: Any, start_response: Any) -> Generator[bytes]:
        start_response("200 OK", [])
        yield b"a"
        raise RuntimeError("broken")

    guard = receiver()
    with pytest.raises(RuntimeError, match="broken"):
        b"".join(call(guard.wsgi(broken))[1])
    assert call(guard.wsgi(listed))[0] == ["204 No Content"]


@pytest.mark.parametrize(
    ("length", "terminated", "status"),
    [
        ("2", False, "204 No Content"),
        (None, True, "204 No Content"),
        ("", True, "204 No Content"),
        (None, False, "401 Unauthorized"),
        ("9" * 30, False, "413 Request Entity Too Large"),
        ("-1", False, "401 Unauthorized"),
    ],
)
def test_the_length_of_the_input(length: str | None, terminated: bool, status: str) -> None:
    """Without a length and without a marked end, reading would wait for ever: it is not begun."""
    app = receiver().wsgi(listed)
    said, _ = call(app, length=length, more={"wsgi.input_terminated": terminated})
    assert said == [status]


def test_input_that_comes_in_small_pieces_is_read_whole() -> None:
    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1)

    said, _ = call(receiver().wsgi(listed), more={"wsgi.input": Dripping(BODY)})
    assert said == ["204 No Content"]
