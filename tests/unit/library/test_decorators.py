"""Decorating functions: what comes of it, and what is refused where it is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from rota import Rota
from rota.errors import InvalidConfig
from rota.library.errors import InvalidDeclaration, NotRunning

if TYPE_CHECKING:
    from rota.library.declaration import Declared


def items(rota: Rota) -> dict[str, Declared]:
    declaration = rota._collected.declaration(version=None, prune=False)
    return {each.key: each for each in declaration.items}


def test_a_schedule_is_declared_with_its_function_as_a_task() -> None:
    rota = Rota(app="billing")

    @rota.schedule("every weekday at 9am", timezone="America/New_York", max_attempts=5)
    async def morning_report() -> None:
        """Sends the report.

        At length.
        """

    fields = items(rota)["morning_report"].fields
    assert fields == {
        "key": "morning_report",
        "name": "morning_report",
        "description": "Sends the report.",
        "text": "every weekday at 9am",
        "timezone": "America/New_York",
        "job_type": f"{__name__}.{_inside('morning_report')}",
        "queue": "billing",
        "max_attempts": 5,
        "tags": ["app:billing"],
    }
    assert morning_report.key == "morning_report"
    assert morning_report.__name__ == "morning_report"


def _inside(name: str) -> str:
    return f"test_a_schedule_is_declared_with_its_function_as_a_task.{name}"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("every weekday at 9am", {"text": "every weekday at 9am"}),
        ("0 9 * * MON-FRI", {"cron_expr": "0 9 * * MON-FRI"}),
        ("@daily", {"cron_expr": "@daily"}),
        ("5m", {"interval": "5m"}),
        ("every 5m", {"text": "every 5m"}),
        (timedelta(minutes=5), {"interval": 300}),
        (timedelta(seconds=1.5), {"interval": 1.5}),
        (datetime(2031, 1, 1, tzinfo=UTC), {"run_at": "2031-01-01T00:00:00+00:00"}),
        (datetime(2031, 1, 1, 9), {"run_at": "2031-01-01T09:00:00"}),  # noqa: DTZ001 - on purpose
        ("2031-01-01T09:00", {"run_at": "2031-01-01T09:00"}),
        ("FREQ=DAILY;BYHOUR=9", {"rrule": "FREQ=DAILY;BYHOUR=9"}),
    ],
)
def test_when_is_kept_as_it_was_written(when: Any, expected: dict[str, object]) -> None:
    rota = Rota(timezone="Europe/Madrid")

    @rota.schedule(when)
    def tick() -> None: ...

    fields = items(rota)["tick"].fields
    assert {**fields, **expected} == fields
    assert fields["timezone"] == "Europe/Madrid"


def test_a_task_is_called_as_before_and_has_a_schedule_of_its_own() -> None:
    rota = Rota()

    @rota.task
    def double(number: int) -> int:
        return number * 2

    @rota.task(name="shrink", queue="images", timeout="2m", max_attempts=7)
    async def shrink(number: int) -> int:
        return number // 2

    assert double(21) == 42
    assert shrink.name == "shrink"
    fields = items(rota)["task:shrink"].fields
    assert fields["on_demand"] is True
    assert fields["overlap_policy"] == "allow"
    assert fields["queue"] == "images"
    assert fields["timeout_seconds"] == "2m"
    assert rota.registry.queues == {rota.queue, "images"}


def test_a_task_may_have_schedules_that_begin_with_its_policies() -> None:
    rota = Rota()

    @rota.schedule("0 9 * * *", key="small", payload={"size": 1})
    @rota.schedule("0 10 * * *", key="large", payload={"size": 2}, max_attempts=2)
    @rota.task(max_attempts=9, queue="images")
    def render(size: int) -> int:
        return size

    found = items(rota)
    assert render(3) == 3
    assert render.key == f"task:{render.name}"
    assert found["small"].fields["max_attempts"] == 9
    assert found["large"].fields["max_attempts"] == 2
    assert found["small"].fields["queue"] == "images"


def test_what_follows_another_names_it_by_its_key() -> None:
    rota = Rota()

    @rota.task
    def extract() -> None: ...

    @rota.schedule(after=extract)
    def load() -> None: ...

    @rota.schedule(after=load, on="failed", key="alarm")
    def tell() -> None: ...

    found = items(rota)
    assert found["load"].fields["after"] == {"key": extract.key, "on": "succeeded"}
    assert found["alarm"].fields["after"] == {"key": "load", "on": "failed"}


def refused(when: Any = "1h", **options: Any) -> str:
    rota = Rota()

    def tick() -> None: ...

    with pytest.raises(InvalidDeclaration) as caught:
        rota.schedule(when, **options)(tick)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"when": "61 * * * *"}, "61"),
        ({"when": "whenever you like"}, "whenever"),
        ({"when": 5}, "expected when to run as a text"),
        ({"when": None}, "expected when it runs, or after=…, got neither"),
        ({"after": "x"}, "got both"),
        ({"on": "failed"}, "expected on=… only beside after=…"),
        ({"max_retries": 5}, "did you mean max_attempts?"),
        ({"overlap_policy": "sometimes"}, "expected one of skip, queue, cancel_previous, allow"),
        ({"timezone": "EST"}, "EST"),
        ({"timeout": "ages"}, "timeout_seconds"),
        ({"queue": "no spaces please"}, "queue"),
        ({"tags": "billing"}, "tags"),
        ({"runs_in": "loop"}, "plain def"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(options: dict[str, Any], said: str) -> None:
    message = refused(**options)
    assert said in message
    assert "test_decorators.py:" in message
    assert "tick" in message


def test_a_lambda_needs_a_name() -> None:
    rota = Rota()
    with pytest.raises(InvalidDeclaration, match="say name="):
        rota.task(lambda: None)
    assert rota.task(name="nothing")(lambda: None).name == "nothing"


def test_two_functions_of_one_name_or_key_are_refused() -> None:
    rota = Rota()

    @rota.task(name="resize")
    def first() -> None: ...

    def second() -> int:
        return 2

    with pytest.raises(InvalidDeclaration, match="Two functions are the task 'resize'"):
        rota.task(name="resize")(second)

    @rota.schedule("1h", key="report")
    def third() -> None: ...

    with pytest.raises(InvalidDeclaration, match=r"which is that of .*third"):
        rota.schedule("1h", key="report")(second)
    with pytest.raises(InvalidDeclaration, match="'report' twice"):
        rota.schedule("2h", key="report")(third)
    assert first.name == "resize"


def test_settings_are_checked_at_once_and_in_pythons_words() -> None:
    with pytest.raises(InvalidConfig, match=r"dsn: expected postgresql://.*\(argument dsn\)"):
        Rota("mysql://localhost/x")
    with pytest.raises(InvalidConfig, match="did you mean data_dir"):
        Rota(data_dirr="/tmp")
    with pytest.raises(InvalidConfig, match="roles: expected some of"):
        Rota(roles=("boss",))
    with pytest.raises(ValueError, match="expected a version that has an order"):
        Rota(version="abc")


def test_a_rota_is_named_for_its_module() -> None:
    assert Rota().app == __name__
    assert Rota(app="billing").app == "billing"


async def test_what_is_not_running_says_how_to_start_it() -> None:
    rota = Rota()
    assert not rota.is_running
    with pytest.raises(NotRunning, match="async with rota"):
        _ = rota.running
    with pytest.raises(NotRunning, match="is not running"):
        await rota.stop()


def test_a_saga_is_a_schedule_of_tasks_with_what_undoes_them() -> None:
    rota = Rota(app="travel")

    @rota.task(max_attempts=2, queue="bookings")
    def book(city: str) -> str:
        return city

    @rota.task
    def cancel(city: str) -> None: ...

    trip = rota.saga("trip", [(book, cancel), cancel], max_attempts=7)
    fields = items(rota)["trip"].fields
    assert trip.key == "trip"
    assert fields["on_demand"] is True
    assert fields["max_attempts"] == 7
    assert fields["steps"] == [
        {
            "name": "book",
            "max_attempts": 2,
            "job_type": book.name,
            "queue": "bookings",
            "compensate": {"job_type": cancel.name, "queue": "travel"},
        },
        {"name": "cancel", "job_type": cancel.name, "queue": "travel"},
    ]
    assert rota.saga("daily", [book], when="every day at 9am").key == "daily"
    assert items(rota)["daily"].fields["text"] == "every day at 9am"


@pytest.mark.parametrize("steps", [[], [print], [("a", "b")], [()]])
def test_a_saga_of_anything_else_is_refused(steps: Any) -> None:
    with pytest.raises(InvalidDeclaration, match=r"saga 'trip' in .*test_decorators"):
        Rota().saga("trip", steps)


def test_a_schedule_alone_is_no_task_to_enqueue() -> None:
    rota = Rota()

    @rota.schedule("1h")
    def tick() -> None: ...

    with pytest.raises(InvalidDeclaration, match=r"put @rota\.task below"):
        tick.enqueue()


def test_runs_of_a_task_do_not_overlap_by_a_policy() -> None:
    options: Any = {"overlap_policy": "skip"}
    with pytest.raises(InvalidDeclaration, match="enqueue with key="):
        Rota().task(name="x", **options)(print)
