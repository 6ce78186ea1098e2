"""Names that are the same in every process."""

from __future__ import annotations

import functools
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from rota.library import naming
from rota.targets import TaskTarget


def main(**attributes: object) -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__.update(attributes)
    return module


def test_a_script_is_called_as_the_module_that_it_is_elsewhere() -> None:
    assert naming.module_name("app.reports") == "app.reports"
    assert naming.module_name("__main__", main(__file__="/srv/app/report.py")) == "report"
    spec = ModuleSpec("app.report", None)
    assert naming.module_name("__main__", main(__spec__=spec)) == "app.report"
    package = ModuleSpec("app.__main__", None)
    assert naming.module_name("__main__", main(__spec__=package)) == "app"
    assert naming.module_name("__main__", main()) == "main"


def test_what_has_no_name_of_its_own_gets_none() -> None:
    assert naming.task_name(lambda: None) is None
    assert naming.task_name(functools.partial(print, "x")) is None
    assert naming.task_name(main) == f"{__name__}.main"
    assert naming.where(main).endswith(f"test_naming.py:{main.__code__.co_firstlineno}, main")


@pytest.mark.parametrize(
    ("program", "queue"),
    [
        ("shop", "shop"),
        ("shop.tasks", "shop.tasks"),
        ("my shop", "my-shop"),
        ("größe", "gr-e"),
        ("-x.", "x"),
        ("celery", "celery-tasks"),
        ("http", "http-tasks"),
    ],
)
def test_a_programs_queue_has_its_name_as_far_as_a_queue_may(program: str, queue: str) -> None:
    assert naming.queue_name(program) == queue
    TaskTarget.read("t", queue)


@pytest.mark.parametrize("programs", [("x" * 120, "x" * 121), ("счёт", "отчёт")])
def test_names_that_no_queue_can_have_are_queues_of_their_own(programs: tuple[str, str]) -> None:
    one, other = map(naming.queue_name, programs)
    assert one != other
    TaskTarget.read("t", one)
