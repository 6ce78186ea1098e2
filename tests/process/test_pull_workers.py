"""The worker of docs/guides/pull-workers.md, as it stands there, beside a real server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from tests.deadlines import patience
from tests.process.serving import Server, eventually, serving

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/pull-workers.md"
NEVER = "0 0 1 1 *"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


def a_key(server: Server) -> str:
    made = server.rota("key", "new", "--scope", "write", "--scope", "read")
    assert made.code == 0, made.err
    return made.out.strip()


@contextmanager
def worker(server: Server, key: str, queue: str, command: str) -> Generator[None]:
    """The guide's script, until the block ends."""
    found = re.search(r"^```bash\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    script = server.home / "worker.sh"
    script.write_text(found[1], "utf-8")
    environment = {"PATH": os.environ["PATH"], "ROTA_URL": server.url, "ROTA_API_KEY": key}
    process = subprocess.Popen(
        ["bash", str(script), queue, "bash", "-c", command],
        env=environment,
        cwd=server.home,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # With its curl, its command and its heartbeat.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=patience(30))


def run_of(server: Server, name: str, status: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        items = server.rota("runs", name, "--json").json
        return items[0] if items and items[0]["status"] == status else None

    return eventually(look)


def claim(server: Server, key: str, **body: Any) -> list[dict[str, Any]]:
    request = Request(
        f"{server.url}/v1/queues/images/claim",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=patience(60)) as answer:
        return json.load(answer)["items"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_guides_worker_does_the_work_with_curl_alone(home: Path) -> None:
    """AP: curl alone is enough to be a worker."""
    with serving(home) as server:
        key = a_key(server)
        for name in ("good", "bad"):
            arguments = ("--task", f"images.{name}", "--queue", "images", "--attempts", "1")
            made = server.rota("add", name, NEVER, *arguments, "--payload", '{"size": 200}')
            assert made.code == 0, made.err
        command = 'tee -a seen.json | grep -q "images.good"'
        with worker(server, key, "images", command):
            # The first waits for the work, the second is there before it is asked for.
            for name in ("good", "bad"):
                assert server.rota("trigger", name).code == 0
            good = run_of(server, "good", "succeeded")
            bad = run_of(server, "bad", "dead")
        assert good["attempt"] == bad["attempt"] == 1
        assert "the command failed" in bad["reason"]
        seen = (home / "seen.json").read_text("utf-8")
        assert seen.count('"payload":{"size":200}') == 2


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_a_curl_that_gives_up_while_it_waits_has_claimed_nothing(home: Path) -> None:
    with serving(home) as server:
        key = a_key(server)
        made = server.rota("add", "t", NEVER, "--task", "images.resize", "--queue", "images")
        assert made.code == 0, made.err
        given_up = subprocess.run(
            [
                *("curl", "-sS", "--max-time", "1", "-d", '{"wait": 30}'),
                *("-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"),
                f"{server.url}/v1/queues/images/claim",
            ],
            check=False,
            capture_output=True,
            timeout=patience(30),
        )
        assert given_up.returncode == 28, "expected a time-out"
        assert server.rota("trigger", "t").code == 0
        (item,) = claim(server, key, wait=10)
        assert item["attempt"] == 1


def test_a_waiting_worker_hears_of_work_at_once_and_of_the_end_too(home: Path) -> None:
    """A long poll is woken by NOTIFY, and a server that stops lets nobody wait."""
    with serving(home) as server:
        key = a_key(server)
        made = server.rota("add", "t", NEVER, "--task", "images.resize", "--queue", "images")
        assert made.code == 0, made.err
        got: list[list[dict[str, Any]]] = []
        waiting = threading.Thread(target=lambda: got.append(claim(server, key, wait=30)))
        waiting.start()
        assert server.rota("trigger", "t").code == 0
        waiting.join(timeout=patience(20))
        assert [each["job_type"] for each in got[0]] == ["images.resize"]
        waiting = threading.Thread(target=lambda: got.append(claim(server, key, wait=30)))
        waiting.start()
        eventually(lambda: server.get("/readyz")[0] == 200)
        assert server.stop() == 0
        waiting.join(timeout=patience(10))
        assert got[1:] == [[]]


def test_all_are_paused_and_resumed_from_the_command_line(home: Path) -> None:
    with serving(home) as server:
        for name in ("a", "b", "own"):
            made = server.rota("add", name, NEVER, "--task", "x", "--tag", f"t-{name}")
            assert made.code == 0, made.err
        assert server.rota("pause", "own").code == 0
        paused = server.rota("pause", "--all", "--reason", "moving house", "--json")
        assert paused.json == {"paused": 2, "renewed": 0}, paused.err
        assert server.rota("show", "a", "--json").json["status_reason"] == "moving house"
        assert server.rota("resume", "--all", "--tag", "t-b").out == "Resumed 1 schedule.\n"
        # The other one resumes by itself.
        again = server.rota("pause", "--all", "--tag", "t-a", "--until", "1s")
        assert again.out == "Paused 0 schedules. 1 schedule had been so before.\n", again.err
        eventually(lambda: server.rota("show", "a", "--json").json["status"] == "active")
        assert server.rota("show", "own", "--json").json["status"] == "paused"
        one = server.rota("pause", "a", "--reason", "its own", "--until", "1s", "--json").json
        assert (one["status"], one["status_reason"]) == ("paused", "its own")
        eventually(lambda: server.rota("show", "a", "--json").json["status"] == "active")
        for arguments in (
            ("pause",),
            ("pause", "a", "--all"),
            ("pause", "a", "--tag", "x"),
            ("resume", "a", "--tag", "x"),
        ):
            assert server.rota(*arguments).code == 2, arguments
        refused = server.rota("pause", "--all", "--until", "2020-01-01T00:00:00Z")
        assert (refused.code, "to come" in refused.err) == (1, True)
