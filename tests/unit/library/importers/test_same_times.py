"""What is imported fires when the library it comes from would have (differential)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from apscheduler.triggers.cron import CronTrigger  # pyright: ignore[reportMissingTypeStubs]
from apscheduler.triggers.interval import IntervalTrigger  # pyright: ignore[reportMissingTypeStubs]
from celery import Celery  # pyright: ignore[reportMissingTypeStubs]
from celery.schedules import crontab  # pyright: ignore[reportMissingTypeStubs]

from rota.library.importers import from_apscheduler, from_celery_beat
from rota.schedules import fields

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2026, 2, 20, 10, 17, 23, tzinfo=UTC)
COUNT = 50


def report() -> None:
    """What the jobs run."""


def ours(schedule: dict[str, Any], count: int = COUNT) -> list[datetime]:
    trigger = fields.read(schedule, now=START, require_future=False).trigger
    found: list[datetime] = []
    slot = trigger.next_after(START)
    while slot is not None and len(found) < count:
        found.append(slot)
        slot = trigger.next_after(slot)
    return found


def _apschedulers(trigger: Any) -> Iterator[datetime]:
    last, now = None, START + timedelta(microseconds=1)
    while (last := trigger.get_next_fire_time(last, now)) is not None:
        yield last.astimezone(UTC)
        now = last + timedelta(microseconds=1)


def made_of(trigger: Any) -> dict[str, Any]:
    given = SimpleNamespace(
        id="it", name="it", func=report, args=(), kwargs={}, trigger=trigger, executor="default"
    )
    done = from_apscheduler([given], now=START)
    assert done.refused == []
    [schedule] = done.schedules
    return schedule


APSCHEDULER: list[dict[str, Any]] = [
    {"minute": "*/7"},
    {"second": "*/20", "minute": 5},
    {"hour": 9},
    {"hour": "9-17", "minute": "0,30"},
    {"day_of_week": 0},
    {"day_of_week": "0-4", "hour": 9},
    {"day_of_week": 6, "hour": 3},
    {"day_of_week": "mon-fri", "hour": 9},
    {"day_of_week": "sat,sun", "hour": "*/6"},
    {"day_of_week": "*/2"},
    {"day": "last", "hour": 18},
    {"day": "last,15", "hour": 18},
    {"day": "2nd fri", "hour": 9},
    {"day": "last mon", "hour": 9},
    {"day": "1st mon,3rd mon", "hour": 9},
    {"day": "5th tue"},
    {"day": "1st mon,10-12", "hour": 9},
    {"day": "1st mon,*/2", "hour": 9},
    {"day": "*/9", "hour": 4},
    {"day": "1-7", "day_of_week": "mon", "hour": 9},
    {"day": 13, "day_of_week": "fri", "hour": 9},
    {"day": "last", "day_of_week": "fri"},
    {"day": "2nd fri", "day_of_week": "mon-fri", "hour": 9},
    {"day": "last fri", "day_of_week": "fri", "hour": 9},
    {"month": "1-6/2", "day": 1},
    {"month": "jan,jul"},
    {"month": "mar", "day_of_week": "sun"},
    {"week": 1},
    {"week": "*/4", "day_of_week": "tue", "hour": 5},
    {"week": "53,1", "hour": 12},
    {"week": "10-20", "month": "4,5", "day_of_week": "0,2", "hour": 7},
    {"week": "9,14", "day": "1-5", "hour": 7},
    {"year": "2027", "month": 5},
    {"year": "2027-2030", "day": "last"},
    {"hour": 23, "minute": 59, "second": 59},
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Asia/Tokyo"])
@pytest.mark.parametrize("given", APSCHEDULER, ids=str)
def test_a_cron_trigger_of_apscheduler_fires_at_the_same_times(
    given: dict[str, Any], zone: str
) -> None:
    trigger = CronTrigger(**given, timezone=zone)
    expected = list(islice(_apschedulers(trigger), COUNT))
    found = ours(made_of(trigger), len(expected) + (len(expected) < COUNT))
    assert found == expected


def test_the_limits_of_a_trigger_are_kept() -> None:
    trigger = CronTrigger(
        hour=9, timezone="UTC", start_date="2026-03-01", end_date="2026-03-04 09:00:00"
    )
    expected = list(_apschedulers(trigger))
    assert ours(made_of(trigger)) == expected
    assert len(expected) == 4


def test_an_interval_counts_from_its_start() -> None:
    trigger = IntervalTrigger(minutes=7, start_date="2026-02-20 03:11:00", timezone="UTC")
    expected = list(islice(_apschedulers(trigger), COUNT))
    assert ours(made_of(trigger)) == expected


def _celerys(given: dict[str, Any], app: Celery) -> Iterator[datetime]:
    last = START
    while True:
        schedule: Any = crontab(**given, app=app, nowfun=lambda at=last: at)
        before, delta, _ = schedule.remaining_delta(last)
        last = (before + delta).astimezone(UTC)
        yield last


CELERY: list[dict[str, Any]] = [
    {},
    {"minute": "*/15"},
    {"minute": 30, "hour": 7},
    {"minute": 0, "hour": "*/3,8-17"},
    {"minute": 0, "hour": 0, "day_of_week": 0},
    {"minute": 0, "hour": 9, "day_of_week": 1},
    {"minute": 0, "hour": 9, "day_of_week": "sunday"},
    {"minute": 0, "hour": 9, "day_of_week": "mon-fri"},
    {"minute": 0, "hour": 9, "day_of_week": "thu,fri"},
    {"minute": 0, "hour": 9, "day_of_week": "*/2"},
    {"minute": 0, "hour": 0, "day_of_month": "2-30/3"},
    {"minute": 0, "hour": 0, "day_of_month": "31"},
    {"minute": 0, "hour": 0, "day_of_month": "1-7,15-21", "day_of_week": 1},
    {"minute": 13, "hour": 13, "day_of_month": 13, "day_of_week": "fri"},
    {"minute": 0, "hour": 0, "day_of_month": 1, "month_of_year": "*/3"},
    {"minute": 0, "hour": 0, "day_of_month": "29", "month_of_year": "2"},
    {"minute": [1, 20, 50], "hour": {4, 5}},
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("given", CELERY, ids=str)
def test_a_crontab_of_celery_fires_at_the_same_times(given: dict[str, Any], zone: str) -> None:
    app: Any = Celery("tests", set_as_current=False)
    app.conf.timezone = zone
    app.conf.beat_schedule = {"it": {"task": "proj.add", "schedule": crontab(**given)}}
    done = from_celery_beat(app, now=START)
    assert done.refused == []
    count = 5 if given.get("month_of_year") == "2" else COUNT
    assert ours(done.schedules[0], count) == list(islice(_celerys(given, app), count))
