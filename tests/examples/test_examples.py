"""The examples, run."""

from __future__ import annotations

import importlib
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.deadlines import patience

if TYPE_CHECKING:
    from types import ModuleType

    from rota.db import Database

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def _database(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples find it as a user's would."""
    monkeypatch.setenv("ROTA_DSN", dsn)
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])


def example(name: str) -> ModuleType:
    """A fresh import: its `Rota` knows nothing of other tests."""
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def test_every_example_is_run_here_and_listed() -> None:
    ours = Path(__file__).read_text("utf-8")
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.stem}"' in ours or path.name in ours, path.name
        assert f"({path.name})" in listed, path.name


def test_ten_lines(dsn: str) -> None:
    script = [sys.executable, str(EXAMPLES / "ten_lines.py")]
    environment = {"PATH": os.environ["PATH"], "ROTA_DSN": dsn}
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Good morning!\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience(30))
    assert process.returncode == 0


async def test_fastapi_app() -> None:
    module = example("fastapi_app")
    transport = httpx.ASGITransport(module.app)
    async with (
        module.app.router.lifespan_context(module.app),
        httpx.AsyncClient(transport=transport, base_url="http://here") as client,
    ):
        answer = await client.post("/users", params={"address": "a@example.com"})
        assert answer.json()["run"].startswith("fir_")
        again = await module.send_welcome.enqueue("b@example.com")
        assert await again.result(timeout=patience(20)) == "welcome, b@example.com"


def test_retries(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "retries.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "order 42 was paid at attempt 3" in said
    assert "there is no order -1" in said


async def test_transactional_enqueue(capsys: pytest.CaptureFixture[str], db: Database) -> None:
    await example("transactional_enqueue").main()
    assert capsys.readouterr().out.splitlines() == [
        "order 1 (a lamp) is on its way",
        "a chair is sold out: nothing is shipped",
    ]
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 0
        assert await tx.fetch_value("SELECT count(*) FROM firings") == 1


async def test_saga(capsys: pytest.CaptureFixture[str]) -> None:
    await example("saga").main()
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["a flight to Lisbon", "a room in Lisbon", "to Lisbon: seat 12A, room 5"]
    assert said[3:5] == ["a flight to Atlantis", "no flight to Atlantis, seat 12A is free again"]
    assert "there is no hotel" in said[5]
    assert "compensated book_flight" in said[5]


def test_testing_a_schedule() -> None:
    """As a user runs it, and with no database at hand: the kit needs none."""
    script = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=."]
    environment = {"PATH": os.environ["PATH"], "ROTA_DSN": "postgresql://127.0.0.1:1/none"}
    done = subprocess.run(
        [*script, "-c", os.devnull, "testing_a_schedule.py"],
        cwd=EXAMPLES,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert "3 passed" in done.stdout, done.stdout
