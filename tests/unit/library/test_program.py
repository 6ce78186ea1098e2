"""Running a program: by its parent, and not by the children that it starts."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from rota import Rota

if TYPE_CHECKING:
    import pytest


def test_a_child_that_reads_the_main_module_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script without `if __name__ == "__main__":` may have tasks that run in a process."""
    child = multiprocessing.current_process()
    monkeypatch.setattr(child, "_inheriting", True, raising=False)
    rota = Rota("postgresql://nobody@127.0.0.1:9/none")
    rota.run()
    assert not rota.is_running
