"""What an answer is written to: few writes, and nothing left behind."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from rota.runtime.answer_writer import AnswerWriter

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Transport:
    """Notes what is done with it."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def writelines(self, parts: Any) -> None:
        self.done.append(b"".join(parts))

    def close(self) -> None:
        self.done.append("closed")
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing


def _writer() -> tuple[Transport, AnswerWriter]:
    transport = Transport()
    loop = asyncio.get_running_loop()
    return transport, AnswerWriter(cast("asyncio.Transport", transport), loop)


async def test_a_head_leaves_with_its_body() -> None:
    transport, writer = _writer()
    writer.write(HEAD)
    assert transport.done == []
    writer.write(b"body")
    assert transport.done == [HEAD + b"body"]
    writer.write(b"more")
    assert transport.done == [HEAD + b"body", b"more"]


async def test_a_head_alone_leaves_when_the_loop_turns() -> None:
    transport, writer = _writer()
    writer.write(HEAD)
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turned.set_result, None)
    await turned
    assert transport.done == [HEAD]


async def test_a_head_leaves_before_the_connection_is_closed() -> None:
    transport, writer = _writer()
    writer.write(HEAD)
    writer.close()
    assert transport.done == [HEAD, "closed"]
    assert writer.is_closing()


async def test_nothing_is_written_to_a_connection_that_is_gone() -> None:
    transport, writer = _writer()
    writer.write(HEAD)
    transport.closing = True
    writer.flush()
    assert transport.done == []
