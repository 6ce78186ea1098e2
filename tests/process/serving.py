"""Servers as real processes, a target for them to call, and waiting for what should come."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import Request, urlopen

from tests.deadlines import patience
from tests.process.test_cli_program import Result, run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request that the target got."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Target:
    """An endpoint on loopback that remembers every request."""

    url: str
    calls: queue.Queue[Call] = field(default_factory=queue.Queue)
    answer_after: float = 0.0

    def next_call(self, *, within: float = 30.0) -> Call:
        return self.calls.get(timeout=patience(within))

    def all_calls(self) -> list[Call]:
        """Those not taken yet."""
        found: list[Call] = []
        while not self.calls.empty():
            found.append(self.calls.get())
        return found


@contextmanager
def target() -> Generator[Target]:
    """A target, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.calls.put(Call(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            time.sleep(seen.answer_after)  # noqa: TID251 - a slow target
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen = Target(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()


@dataclass
class Server:
    """`rota serve`, as a process."""

    process: subprocess.Popen[str]
    home: Path
    url: str
    lines: list[str]

    def rota(self, *arguments: str, **variables: str) -> Result:
        """Run a command beside it, which must find it by itself."""
        return run(self.home, *arguments, **variables)

    def get(self, path: str, key: str | None = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            with urlopen(Request(self.url + path, headers=headers), timeout=patience(10)) as answer:
                return answer.status, json.load(answer)
        except OSError as error:
            code = getattr(error, "code", 0)
            return code, None

    def web_pid(self) -> int:
        """The web process that runs now; `process` is the engine that started it."""
        return eventually(lambda: _web_of(self.process.pid))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=patience(60))


def _web_of(pid: int) -> int | None:
    """The child of this process that is a web process."""
    for each in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        with suppress(FileNotFoundError):
            if b"rota.runtime.serve_web" in Path(f"/proc/{each}/cmdline").read_bytes():
                return int(each)
    return None


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and not only what is left of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def serving(home: Path, *arguments: str, **variables: str) -> Generator[Server]:
    """A server that answers; stopped when the block ends, if it still runs.

    It leads a process group of its own, as in a terminal.
    """
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    if "--dsn" in arguments:
        # The targets of these tests are on this machine; only the embedded server may just do that.
        environment["ROTA_ALLOW_PRIVATE_TARGETS"] = "1"
    environment |= variables
    log = (home / "serve.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "rota", "serve", "--port", "0", *arguments],
        env=environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=log,
        encoding="utf-8",
        process_group=0,
    )
    try:
        yield _started(process, home)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(timeout=patience(60))
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
            log.close()


def _started(process: subprocess.Popen[str], home: Path) -> Server:
    assert process.stdout is not None
    first = process.stdout.readline()
    if "Rota is at " not in first:
        log = (home / "serve.log").read_text("utf-8")
        raise AssertionError(f"expected the server's address, got {first!r}\n{log}")
    url = first.split("Rota is at ")[1].split()[0]
    lines = [first]
    reader = threading.Thread(target=lambda: lines.extend(process.stdout or []), daemon=True)
    reader.start()
    return Server(process, home, url, lines)


def eventually(look: Callable[[], T | None], *, within: float = 30.0) -> T:
    """What `look` finds, asked again until it finds something."""
    deadline = time.monotonic() + patience(within)  # noqa: TID251 - outside of the program
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come in time"  # noqa: TID251
        time.sleep(0.1)  # noqa: TID251 - another process; there is no event to wait for
