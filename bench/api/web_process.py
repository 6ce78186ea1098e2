"""`python -m bench.api.web_process`: a server's memory, start and CPU, and lateness under load.

Starts `rota serve` on an embedded database in a folder of its own, with a schedule of one second,
and floods its API from this machine for a bounded time: sign-in forms of 510 kB without a key, and
bulk bodies of 10,000 schedules, one of them wrong, with one. With PYTHONPATH it measures another
version of Rota. Figures are printed; docs/decisions/web-process.md records them.
"""

from __future__ import annotations

import json
import os
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

SECONDS = 20.0
"""Of rest, and of each load."""
FORM = b"&".join(b"%x=" % number for number in range(83_000))
"""510 kB of fields, each with a name of its own."""
FORMS_AT_ONCE = 10
BULKS_AT_ONCE = 2


def _now() -> float:
    return time.monotonic()  # noqa: TID251 - outside of the program


class Sink:
    """Takes the calls of the schedule and notes how late each was."""

    def __init__(self) -> None:
        self.late: queue.Queue[float] = queue.Queue()
        self.first_at: float | None = None
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sink.first_at = sink.first_at or _now()
                came = datetime.now(UTC)  # noqa: TID251 - outside of the program
                slot = datetime.fromisoformat(self.headers["Rota-Scheduled-For"])
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                sink.late.put((came - slot).total_seconds() * 1000)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def taken(self) -> list[float]:
        found: list[float] = []
        while not self.late.empty():
            found.append(self.late.get())
        return found


class Serving:
    """One start of the program."""

    def __init__(self, home: Path) -> None:
        self.began = _now()
        self._home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rota", "serve", "--port", "0"],
            env={**os.environ, "HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        found = re.search(r"Rota is at (\S+)", self.process.stdout.readline())
        assert found is not None
        self.url = found[1]
        self.get("/healthz")
        self.answered_after = _now() - self.began

    def get(self, path: str) -> bytes:
        with urlopen(self.url + path, timeout=60) as answer:
            return answer.read()

    def post(self, path: str, body: bytes, kind: str, *, key: bool) -> int:
        headers = {"Content-Type": kind, "Origin": self.url}
        if key:
            text = (self._home / ".local/share/rota/key").read_text().strip()
            headers["Authorization"] = f"Bearer {text}"
        try:
            with urlopen(Request(self.url + path, body, headers), timeout=60) as answer:
                return answer.status
        except OSError as error:
            return getattr(error, "code", 0)

    def pids(self) -> list[int]:
        """The program's processes, without PostgreSQL's."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ours = [int(each) for each in children if b"rota" in _command(each)]
        return [pid, *ours]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


def _command(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _memory(pid: int) -> str:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in text.splitlines()[1:]}
    return f"resident {sizes['Rss:']:.0f} MB, private {sizes['Private_Dirty:']:.0f} MB"


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _told(name: str, late: list[float]) -> None:
    if not late:
        print(f"{name}: no call came")
        return
    print(
        f"{name}: {len(late)} calls, late by {statistics.median(late):.0f} ms (median), "
        f"{max(late):.0f} ms (most)"
    )


def _during(work: list[tuple[int, object]], seconds: float) -> list[int]:
    """Repeat each from so many threads at once, until the time is up; returns the counts."""
    ends = _now() + seconds
    counts = [0] * len(work)

    def repeat(at: int, what: object) -> None:
        while _now() < ends:
            assert callable(what)
            what()
            counts[at] += 1

    threads = [
        threading.Thread(target=repeat, args=(at, what))
        for at, (many, what) in enumerate(work)
        for _ in range(many)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return counts


def _bulk() -> bytes:
    items = [
        {"name": f"s{n}", "interval": "1h", "target_url": "http://127.0.0.1:9/"}
        for n in range(9_999)
    ]
    return json.dumps([*items, {"name": "wrong", "interval": "never"}]).encode()


def main() -> None:
    sink = Sink()
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        home = Path(folder)
        first = Serving(home)
        print(f"first start, with a new database: answers after {first.answered_after:.1f} s")
        body = {"name": "tick", "interval": "1s", "target_url": sink.url, "overlap_policy": "allow"}
        made = first.post("/v1/schedules", json.dumps(body).encode(), "application/json", key=True)
        assert made == 201, made
        first.stop()
        sink.taken()
        sink.first_at = None
        server = Serving(home)
        sink.late.get(timeout=60)
        fired_after = (sink.first_at or _now()) - server.began
        print(f"answers after {server.answered_after:.1f} s, first call by {fired_after:.1f} s")
        time.sleep(5)  # noqa: TID251 - until it has settled
        sink.taken()
        before = {pid: _cpu_seconds(pid) for pid in server.pids()}
        time.sleep(SECONDS)  # noqa: TID251 - at rest
        for pid, used in before.items():
            share = (_cpu_seconds(pid) - used) / SECONDS * 100
            print(f"process {pid}: {_memory(pid)}, CPU at rest {share:.1f} %")
        _told("at rest", sink.taken())
        form = "application/x-www-form-urlencoded"
        counts = _during(
            [(FORMS_AT_ONCE, lambda: server.post("/sign-in", FORM, form, key=False))], SECONDS
        )
        _told(f"sign-in forms of 510 kB, {FORMS_AT_ONCE} at once ({counts[0]})", sink.taken())
        content = _bulk()
        counts = _during(
            [
                (
                    BULKS_AT_ONCE,
                    lambda: server.post(
                        "/v1/schedules/bulk", content, "application/json", key=True
                    ),
                )
            ],
            SECONDS,
        )
        _told(f"bulk bodies of 10,000, {BULKS_AT_ONCE} at once ({counts[0]})", sink.taken())
        server.stop()


if __name__ == "__main__":
    main()
