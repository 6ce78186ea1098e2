"""What becomes of jobs, beat entries and crontab lines: taken, refused with a reason, noted."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from apscheduler.schedulers.background import (  # pyright: ignore[reportMissingTypeStubs]
    BackgroundScheduler,
)
from apscheduler.triggers.combining import (  # pyright: ignore[reportMissingTypeStubs]
    AndTrigger,
    OrTrigger,
)
from apscheduler.triggers.cron import CronTrigger  # pyright: ignore[reportMissingTypeStubs]
from celery import Celery  # pyright: ignore[reportMissingTypeStubs]
from celery.schedules import crontab, schedule  # pyright: ignore[reportMissingTypeStubs]
from typer.testing import CliRunner

from rota.cli.app import app as program
from rota.library.importers import from_apscheduler, from_celery_beat, from_crontab_lines
from rota.library.importers.patterns import Inexpressible, Pattern, listed, trigger

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 4, 10, 17, 23, tzinfo=UTC)


def report(team: str = "all") -> None:
    """What the jobs run."""


class Office:
    def open(self) -> None: ...


@pytest.fixture
def scheduler() -> Any:
    return BackgroundScheduler(timezone="Europe/Madrid")


def test_a_job_becomes_a_schedule_of_its_functions_task(scheduler: Any) -> None:
    scheduler.add_job(
        report,
        "cron",
        day_of_week="mon-fri",
        hour=9,
        args=["ops"],
        id="morning",
        name="Morning report",
        misfire_grace_time=3600,
        jitter=30,
    )
    done = from_apscheduler(scheduler, now=NOW)
    assert done.refused == []
    assert done.schedules == [
        {
            "key": "morning",
            "name": "Morning report",
            "job_type": f"{__name__}.report",
            "payload": {"args": ["ops"]},
            "jitter_seconds": 30,
            "misfire_policy": "fire_most_recent",
            "misfire_window": "1h",
            "misfire_grace": "1m",
            "cron_expr": "0 9 * * MON-FRI",
            "timezone": "Europe/Madrid",
        }
    ]
    assert [each.name for each in done.notes] == ["morning"]


@pytest.mark.parametrize(
    ("options", "fields", "note"),
    [
        ({}, {"misfire_policy": "fire_most_recent"}, "usual second"),
        ({"coalesce": False}, {"misfire_policy": "fire_late", "misfire_cap": 1000}, "usual"),
        ({"misfire_grace_time": None}, {"misfire_window": "366d", "misfire_grace": "1m"}, None),
        ({"misfire_grace_time": 5}, {"misfire_window": "5s", "misfire_grace": "5s"}, None),
        ({"max_instances": 3}, {"overlap_policy": "allow"}, "max_instances=3"),
        ({"executor": "processes"}, {}, "executor 'processes'"),
        ({"next_run_time": None}, {"enabled": False}, None),
        ({"kwargs": {"team": "ops"}}, {"payload": {"kwargs": {"team": "ops"}}}, None),
    ],
)
def test_a_jobs_options_become_policies(
    scheduler: Any, options: dict[str, Any], fields: dict[str, Any], note: str | None
) -> None:
    scheduler.add_job(report, "interval", minutes=5, id="it", **options)
    done = from_apscheduler(scheduler, now=NOW)
    [made] = done.schedules
    assert {name: made[name] for name in fields} == fields
    assert made["interval"] == 300
    assert "start_at" not in made
    if note:
        assert any(note in each.reason for each in done.notes)


def test_an_id_that_was_drawn_gives_way_to_the_functions_name(scheduler: Any) -> None:
    for hour in (1, 2):
        scheduler.add_job(report, "cron", hour=hour)
    scheduler.add_job(report, "cron", hour=3, id="report")
    keys = [each["key"] for each in from_apscheduler(scheduler, now=NOW).schedules]
    assert keys == ["report-2", "report-3", "report"]


def test_triggers_that_are_joined_by_or_become_several_schedules(scheduler: Any) -> None:
    either = OrTrigger([CronTrigger(hour=3), CronTrigger(hour=15, minute=30)])
    scheduler.add_job(report, either, id="twice")
    made = from_apscheduler(scheduler, now=NOW).schedules
    assert [(each["key"], each["cron_expr"]) for each in made] == [
        ("twice", "0 3 * * *"),
        ("twice-2", "30 15 * * *"),
    ]


def test_what_cannot_be_taken_is_refused_with_the_reason(scheduler: Any) -> None:
    scheduler.add_job(lambda: None, "cron", hour=3, id="lambda")
    scheduler.add_job(Office().open, "cron", hour=3, id="method")
    scheduler.add_job(report, "cron", hour=3, args=[NOW], id="datetime")
    scheduler.add_job(report, "date", run_date="2020-01-01", id="passed")
    both = AndTrigger([CronTrigger(hour=3), CronTrigger(day=1)])
    scheduler.add_job(report, both, id="and")
    done = from_apscheduler(scheduler, now=NOW)
    assert done.schedules == []
    reasons = {each.name: each.reason for each in done.refused}
    for name, words in {
        "lambda": "lambda",
        "method": "a method of an object (Office)",
        "datetime": "datetime, which JSON would make something else of",
        "passed": "No upcoming",
        "and": "all of several triggers",
    }.items():
        assert words in reasons[name]


def test_a_date_is_an_instant(scheduler: Any) -> None:
    scheduler.add_job(report, "date", run_date="2026-06-01 09:00:00", id="once")
    [made] = from_apscheduler(scheduler.get_jobs(), now=NOW).schedules
    assert made["run_at"] == "2026-06-01T07:00:00Z"


BEAT: dict[str, Any] = {
    "monday": {
        "task": "proj.report",
        "schedule": crontab(hour=7, minute=30, day_of_week=1),
        "args": (16,),
        "options": {"queue": "mail", "expires": 60},
    },
    "often": {"task": "proj.tick", "schedule": 30.5, "kwargs": {"x": 1}},
    "hourly": {"task": "proj.tick", "schedule": timedelta(hours=2), "relative": True},
    "second monday": {
        "task": "proj.tick",
        "schedule": crontab(hour=9, minute=0, day_of_week=1, day_of_month="8-14"),
    },
}


def test_beat_entries_become_schedules_of_celery_tasks() -> None:
    app: Any = Celery("tests", set_as_current=False)
    app.conf.update(timezone="Europe/Madrid", beat_schedule=BEAT, task_default_queue="own")
    done = from_celery_beat(app, now=NOW)
    assert done.refused == []
    monday, often, hourly, second = done.schedules
    assert monday == {
        "key": "monday",
        "name": "monday",
        "celery_task": "proj.report",
        "queue": "mail",
        "payload": [16],
        "cron_expr": "30 7 * * MON",
        "timezone": "Europe/Madrid",
    }
    assert (often["interval"], often["payload"], often["queue"]) == (30.5, {"x": 1}, "own")
    assert (hourly["interval"], hourly["start_at"]) == (7200, "2026-03-04T10:00:00Z")
    assert second["rrule"].startswith("RRULE:FREQ=DAILY;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=MO;")
    assert [each.reason for each in done.notes if each.name == "monday"] == [
        "its option expires=60 is not taken over"
    ]


def test_beat_entries_become_schedules_of_rota_tasks_if_that_is_wanted() -> None:
    given = {"both": {"task": "proj.add", "schedule": crontab(), "args": [1], "kwargs": {"y": 2}}}
    [made] = from_celery_beat(given, to="rota", timezone="Asia/Tokyo", now=NOW).schedules
    assert made["job_type"] == "proj.add"
    assert made["payload"] == {"args": [1], "kwargs": {"y": 2}}
    assert made["timezone"] == "Asia/Tokyo"


class solar:  # noqa: N801 - as Celery's is called, which wants a library of its own
    """Whatever follows the sun."""


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"schedule": solar()}, "follows the sun"),
        ({"schedule": object()}, "object, is not one of Celery's own"),
        ({"schedule": 60, "args": [1], "kwargs": {"y": 2}}, "args and kwargs"),
        ({"schedule": 60, "args": [object()]}, "cannot be written as JSON"),
        ({"schedule": schedule(5400, relative=True)}, "the interval is not kept"),
    ],
)
def test_beat_entries_that_cannot_be_taken_are_refused(entry: Any, reason: str) -> None:
    done = from_celery_beat({"it": {"task": "proj.add", **entry}}, now=NOW)
    assert done.schedules == []
    assert reason in str(done.refused[0])


def test_the_lines_of_a_crontab_become_schedules() -> None:
    done = from_crontab_lines(
        ["CRON_TZ=Europe/Madrid", "0 2 * * * /srv/backup.sh --all", "@reboot /srv/start"],
        task="shell",
        now=NOW,
    )
    [made] = done.schedules
    assert (made["job_type"], made["payload"]["command"]) == ("shell", "/srv/backup.sh --all")
    assert made["timezone"] == "Europe/Madrid"
    assert done.refused[0].name == "line 3"
    alone = from_crontab_lines("0 2 * * * /srv/backup.sh", now=NOW)
    assert "say with target_url=… or task=… who runs it" in alone.refused[0].reason


@pytest.mark.parametrize(
    ("values", "low", "high", "text"),
    [
        (range(60), 0, 59, "*"),
        (range(0, 60, 15), 0, 59, "*/15"),
        ({9, 10, 11, 17}, 0, 23, "9-11,17"),
        ({1, 2}, 1, 12, "1,2"),
        ({0}, 0, 59, "0"),
        (range(1, 32, 2), 1, 31, "*/2"),
    ],
)
def test_values_are_written_as_people_write_them(
    values: Any, low: int, high: int, text: str
) -> None:
    assert listed(values, low, high) == text


def test_what_neither_cron_nor_a_rule_says_is_not_said() -> None:
    with pytest.raises(Inexpressible, match="several days by their position"):
        trigger(Pattern(days=frozenset(), positions=((1, 1), (2, 5)), weekdays=frozenset({1, 5})))
    with pytest.raises(Inexpressible, match="years"):
        trigger(Pattern(weeks=frozenset({1}), years=frozenset({2027})))


def test_the_command_prints_what_apply_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from apscheduler.schedulers.background import BackgroundScheduler\n"
        "from celery.schedules import crontab\n"
        "scheduler = BackgroundScheduler(timezone='UTC')\n"
        "def report(): ...\n"
        "scheduler.add_job(report, 'cron', hour=9, id='morning')\n"
        "scheduler.add_job(lambda: None, 'cron', hour=9, id='odd')\n"
        "beat = {'add': {'task': 'proj.add', 'schedule': crontab(minute=0)}}\n"
    )
    (tmp_path / "imported_jobs.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    runner = CliRunner()
    done = runner.invoke(program, ["import", "apscheduler", "imported_jobs:scheduler"])
    assert done.exit_code == 1  # one was not taken
    assert "odd: not taken" in done.stderr
    assert "job_type: imported_jobs.report" in done.stdout
    done = runner.invoke(program, ["import", "celery", "imported_jobs:beat", "--tasks", "--json"])
    assert done.exit_code == 0
    assert '"job_type": "proj.add"' in done.stdout
