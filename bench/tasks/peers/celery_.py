"""Celery on Redis: prefork with two children, as many as there are cores here."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from celery import Celery

from bench.tasks.part import instants, main, now, percentiles

URL = os.environ.get("BENCH_REDIS", "redis://")
NOTES = os.environ.get("BENCH_NOTES", os.devnull)

app: Any = Celery("bench", broker=URL)
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    task_acks_late=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": 3_600},
)
_file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _note(due: float = 0.0) -> None:
    """Children have no list in common: each writes its own lines to one file."""
    os.write(_file, struct.pack("dd", now(), due))


noop: Any = app.task(name="noop")(_note)


def _one(_url: str, count: int, _rate: int) -> dict[str, float]:
    began = now()
    for _ in range(count):
        noop.delay()
    return {"seconds": now() - began}


def _work(url: str, count: int) -> list[tuple[float, float]]:
    """Start a worker; what its tasks have noted when all have run."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        command = [sys.executable, "-m", "celery", "-A", "bench.tasks.peers.celery_", "worker"]
        command += ["--pool=prefork", "--concurrency=2", "--loglevel=ERROR"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        environment = {**os.environ, "BENCH_REDIS": url, "BENCH_NOTES": str(notes)}
        with subprocess.Popen(command, env=environment) as worker:
            try:
                while notes.stat().st_size < 16 * count:
                    time.sleep(0.01)  # noqa: TID251 - a file tells nobody that it has grown
                return list(struct.iter_unpack("dd", notes.read_bytes()))
            finally:
                worker.terminate()


def _drain(url: str, count: int, _rate: int) -> dict[str, float]:
    for _ in range(count):
        noop.delay()
    noted = _work(url, count)
    # Its start takes seconds, and is not what is measured.
    return {"seconds": max(at for at, _ in noted) - min(at for at, _ in noted)}


def _late(url: str, count: int, rate: int) -> dict[str, float]:
    due = instants(count, rate, entered_in=4 + count / 1_000)
    for each in due:
        noop.apply_async(args=(each,), eta=datetime.fromtimestamp(each, UTC))
    return percentiles([at - due for at, due in _work(url, count)])


if __name__ == "__main__":
    app.conf.broker_url = sys.argv[2]
    main({"one": _one, "drain": _drain, "late": _late})
