"""Huey on Redis, with four threads and its shortest scheduler interval."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from huey import RedisHuey

from bench.tasks.part import Noted, instants, main, now

noted = Noted(0)


def _huey(url: str) -> tuple[RedisHuey, Any]:
    huey = RedisHuey("bench", url=url, results=False, utc=True)

    @huey.task()
    def noop(due: float = 0.0) -> None:
        noted.start(due)

    return huey, noop


def _one(url: str, count: int) -> dict[str, float]:
    _, noop = _huey(url)
    began = now()
    for _ in range(count):
        noop()
    return {"seconds": now() - began}


def _work(huey: RedisHuey) -> None:
    done = threading.Event()
    noted.on_done = done.set
    consumer = huey.create_consumer(
        workers=4, worker_type="thread", periodic=False, scheduler_interval=1, initial_delay=0.01
    )
    consumer.start()
    done.wait()
    consumer.stop(graceful=False)


def _drain(url: str, count: int) -> dict[str, float]:
    huey, noop = _huey(url)
    for _ in range(count):
        noop()
    noted.count = count
    _work(huey)
    return noted.took()


def _late(url: str, count: int, rate: int) -> dict[str, float]:
    huey, noop = _huey(url)
    due = instants(count, rate, entered_in=count / 4_000)
    for each in due:
        noop.schedule(args=(each,), eta=datetime.fromtimestamp(each, UTC))
    noted.count = count
    _work(huey)
    return noted.lateness()


if __name__ == "__main__":
    main(
        {
            "one": lambda url, count, _: _one(url, count),
            "drain": lambda url, count, _: _drain(url, count),
            "late": _late,
        }
    )
