"""A real Celery worker, as a process of its own, that writes down what it is asked to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.deadlines import patience

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_MODULE = """
import json, os
from celery import Celery

app = Celery("proj", broker=os.environ["BROKER"])
app.conf.broker_connection_retry_on_startup = True

@app.task(bind=True, name="proj.tasks.add")
def add(self, *args, **kwargs):
    told = {
        "id": self.request.id,
        "args": args,
        "kwargs": kwargs,
        "queue": self.request.delivery_info["routing_key"],
        "headers": {k: v for k, v in (self.request.headers or {}).items() if "rota" in k},
    }
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(json.dumps(told) + "\\n")
"""


@dataclass(frozen=True)
class CeleryWorker:
    """What it has done so far."""

    ledger: Path

    def done(self) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text("utf-8").splitlines()]


@contextmanager
def celery_worker(folder: Path, broker: str, *, queues: str = "celery") -> Generator[CeleryWorker]:
    """A worker that is ready, until the block ends."""
    (folder / "proj.py").write_text(_MODULE, "utf-8")
    ledger = folder / "ledger"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "-A", "proj", "worker", "--pool", "solo"),
            *("--without-mingle", "--without-gossip", "--loglevel", "info", "-Q", queues),
        ],
        env={**os.environ, "BROKER": broker, "LEDGER": str(ledger), "PYTHONUNBUFFERED": "1"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    reader = threading.Thread(target=process.stdout.read, daemon=True)
    try:
        lines: list[str] = []
        while not any(line.rstrip().endswith("ready.") for line in lines):
            line = process.stdout.readline()
            assert line, f"Celery ended: {''.join(lines)}"
            lines.append(line)
        # Its pipe must not fill up.
        reader.start()
        yield CeleryWorker(ledger)
    finally:
        process.kill()
        process.wait(patience(30))
        if reader.ident is not None:
            reader.join(patience(30))
        process.stdout.close()
