"""The garbage collector after a start."""

from __future__ import annotations

import gc
import sys
from subprocess import run

from rota.runtime import collector

_PROGRAM = """
import gc
from rota.runtime.collector import calm
calm()
print(gc.get_freeze_count(), *gc.get_threshold())
"""


def test_what_a_start_has_made_is_never_looked_at_again() -> None:
    # In a process of its own: the collector is one for the whole of it.
    done = run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)
    frozen, *thresholds = map(int, done.stdout.split())
    assert frozen > 1_000
    assert thresholds == [collector.YOUNG, collector.MIDDLE, collector.OLD]
    assert gc.get_threshold()[0] != collector.YOUNG
