"""Names that are the same in every process."""

from __future__ import annotations

import functools
from importlib.machinery import ModuleSpec
from types import ModuleType

from rota.library import naming


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
    assert naming.where(main).endswith("test_naming.py:12, main")
