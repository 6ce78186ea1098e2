"""`rota doctor`, `stats`, `cluster` and `logs`, beside a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.deadlines import patience
from tests.process.serving import Server, eventually, serving, target

import rota
from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path


LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (UTC|[+-]\d\d:\d\d)  (\w+) +(\S+)  .*(fir_\w+)"
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


# Whoever runs the tests in the background may have told their children to ignore the signal.
_INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("rota", run_name="__main__")
"""


@contextmanager
def following(server: Server, *arguments: str, **variables: str) -> Generator[Followed]:
    """`rota logs -f`, as a process whose lines are read as they come."""
    environment = {"HOME": str(server.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTIBLE, "logs", "-f", *arguments],
        env=environment | variables,
        cwd=server.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield Followed(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Followed:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or []:
            self.lines.append(line.rstrip("\n"))

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=patience(30))


def _checks(server: Server, *, code: int) -> dict[str, dict[str, Any]]:
    shown = server.rota("doctor", "--json")
    assert shown.code == code, shown.out
    return {each["name"]: each for each in shown.json["checks"]}


def test_a_server_can_be_looked_at_in_every_way(home: Path) -> None:
    with target() as sink, serving(home) as server:
        assert server.rota("add", "report", "every day at 9am", f"{sink.url}/x").code == 0
        assert server.rota("add", "other", "every day at 9am", f"{sink.url}/y").code == 0
        eventually(lambda: all(s["held"] for s in server.rota("cluster", "--json").json["shards"]))
        _the_doctor_finds_it_well(server)
        _what_happens_is_followed(server)
        _figures_are_shown(server)
        _the_client_reads_them(server)
    # And without it: the database is looked at, and nobody runs.
    stopped = server.rota("doctor", "--json")
    checks = {each["name"]: each for each in stopped.json["checks"]}
    assert stopped.code == 0
    assert checks["nodes"]["found"] == "none is running"
    assert "rota serve" in checks["nodes"]["advice"]


def _the_doctor_finds_it_well(server: Server) -> None:
    checks = _checks(server, code=0)
    assert {name for name, each in checks.items() if each["ok"] is not True} == set()
    assert checks["leases"]["found"] == "all 64 shards are held"
    assert checks["partitions"]["found"] == "7 days ahead"
    assert checks["secret keys"]["found"] == "1 in the ring, and they fit"
    assert checks["timers"]["found"] == "none due late"
    assert checks["circuits"]["found"] == "none is open"
    assert checks["queue"]["found"].startswith("0 in it")


def _what_happens_is_followed(server: Server) -> None:
    assert server.rota("logs").err.strip() == "No firings yet."
    with (
        following(server, TZ="Asia/Kathmandu") as all_,
        following(server, "report", "--json") as one,
    ):
        for name in ("report", "other", "report"):
            assert server.rota("trigger", name).code == 0
        eventually(lambda: sum("succeeded" in each for each in all_.lines) >= 3)
        eventually(lambda: sum("succeeded" in each for each in one.lines) >= 2)
        assert all_.interrupt() == 0
        assert one.interrupt() == 0
    shown = [each for each in all_.lines if "succeeded" in each]
    found = [LINE.fullmatch(each) for each in shown]
    assert sorted(each[3] for each in found if each) == ["other", "report", "report"]
    assert {each[1] for each in found if each} == {"+05:45"}
    records = [json.loads(each) for each in one.lines]
    ended = [each for each in records if each["status"] == "succeeded"]
    assert len({each["id"] for each in ended}) == 2
    assert len({each["schedule_id"] for each in records}) == 1
    past = server.rota("logs", "-n", "2", "--utc").out.splitlines()
    assert [each.split()[-1] for each in past] == [each.split()[-1] for each in shown[-2:]]
    assert " UTC  succeeded" in past[0]
    by_name = server.rota("logs", "other", "--json").json
    assert [each["status"] for each in by_name] == ["succeeded"]


def _figures_are_shown(server: Server) -> None:
    figures = server.rota("stats", "--json").json
    assert figures["schedules"]["active"] == 2
    assert figures["firings_last_hour"]["succeeded"] == 3
    shown = server.rota("stats").out
    assert "2 active" in shown
    assert "3 succeeded" in shown
    cluster = server.rota("cluster", "--json").json
    (node,) = cluster["nodes"]
    assert (node["alive"], set(node["roles"])) == (True, {"api", "scheduler", "worker"})
    assert {each["holder"] for each in cluster["shards"]} == {node["id"]}
    shown = server.rota("cluster").out
    assert "alive" in shown
    assert "All 64 shards are held." in shown
    unknown = server.rota("logs", "reprot")
    assert unknown.code == 1
    assert "did you mean 'report'?" in unknown.err


def _the_client_reads_them(server: Server) -> None:
    with rota.Client(data_dir=server.home / ".local" / "share" / "rota") as client:
        assert client.stats().schedules == {"active": 2, "paused": 0, "completed": 0}
        cluster = client.cluster()
        assert [each.alive for each in cluster.nodes] == [True]
        assert {each.holder for each in cluster.shards} == {cluster.nodes[0].id}
        ended = list(client.all_firings(status="ended", page_size=2))
        ends = [each.finished_at for each in ended if each.finished_at]
        assert len(ends) == 3
        assert ends == sorted(ends, reverse=True)
        newest = list(client.all_firings(since=ends[0]))
        assert [each.id for each in newest] == [ended[0].id]
