"""APScheduler 3 with its jobs in PostgreSQL and twenty threads."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from bench.tasks import part
from bench.tasks.peers import apscheduler_ as this  # noqa: PLW0406 - as the store finds it

FAR = datetime(2100, 1, 1, tzinfo=UTC)
noted = part.Noted(0)


def noop(due: float) -> None:
    """Found by its name: the store keeps no functions."""
    noted.start(due)


def _scheduler(dsn: str) -> BackgroundScheduler:
    store = SQLAlchemyJobStore(url=dsn.replace("postgresql://", "postgresql+psycopg://"))
    return BackgroundScheduler(
        jobstores={"default": store},
        executors={"default": ThreadPoolExecutor(20)},
        job_defaults={"misfire_grace_time": None, "max_instances": 1_000_000},
        timezone=UTC,
    )


def _add(scheduler: BackgroundScheduler, at: datetime, due: float) -> None:
    scheduler.add_job(this.noop, "date", run_date=at, args=(due,))


def _one(dsn: str, count: int, _: int) -> dict[str, float]:
    scheduler = _scheduler(dsn)
    scheduler.start(paused=True)
    began = part.now()
    for _ in range(count):
        _add(scheduler, FAR, 0.0)
    seconds = part.now() - began
    scheduler.shutdown(wait=False)
    return {"seconds": seconds}


def _late(dsn: str, count: int, rate: int) -> dict[str, float]:
    scheduler = _scheduler(dsn)
    scheduler.start(paused=True)
    due = part.instants(count, rate, entered_in=count / 400)
    for each in due:
        _add(scheduler, datetime.fromtimestamp(each, UTC), each)
    done = threading.Event()
    this.noted.count, this.noted.on_done = count, done.set
    scheduler.resume()
    done.wait()
    found = this.noted.lateness()
    scheduler.shutdown(wait=False)
    return found


if __name__ == "__main__":
    part.main({"one": _one, "late": _late})
