"""Which benchmarks there are: every module or package beside `frame` that has a `BENCHMARK`."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.frame.measure import Session
    from bench.frame.results import Row


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a benchmark tells the frame."""

    title: str
    packages: tuple[str, ...]
    """The peers whose versions matter."""
    method: tuple[str, ...]
    """How it was measured and what is fair about it, a paragraph each."""
    run: Callable[[Session], Sequence[Row]]


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name."""
    found: dict[str, Benchmark] = {}
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name not in {"frame", "__main__"}:
            benchmark = importlib.import_module(f"bench.{module.name}").BENCHMARK
            assert isinstance(benchmark, Benchmark)
            found[module.name] = benchmark
    return found
