"""Timing: contestants take turns, many in a round, so that whatever else runs hits all alike.

For work that waits for nothing, the time counted is the processor's: what other programs take of a
shared core is not the contestant's.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Self

from bench.frame.results import Figure, Goal, Row
from bench.frame.words import goal, number, times, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

#: Does a fixed piece of work, and says how many operations it was.
Work = Callable[[], int]
#: Makes a piece of work ready; told its turn, so that no turn finds the last one's answers kept.
Prepare = Callable[[int], Work]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A name, and work that it makes ready outside the timing."""

    name: str
    prepare: Prepare


class Session:
    """A benchmark's run: times it, and shows on the terminal how far it is."""

    def __init__(
        self, name: str, *, rounds: int, console: Console, round_seconds: float = 0.2
    ) -> None:
        self.rounds = rounds
        self._name = name
        self._console = console
        self._round_seconds = round_seconds
        self._status = console.status(name)

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def race(
        self,
        title: str,
        ours: Contestant,
        *peers: Contestant,
        goal: Goal | None = None,
        note: str = "",
    ) -> Row:
        """Operations per second of processor time, in interleaved rounds after a warm-up."""
        contestants = (ours, *peers)
        turns = [itertools.count() for _ in contestants]
        runs: list[list[float]] = [[] for _ in contestants]
        for each_round in range(self.rounds + 1):
            self.at_round(title, each_round)
            for kept, rate in zip(runs, self._round(contestants, turns), strict=True):
                kept.append(rate)
        figures = [
            Figure(contestant.name, tuple(rates[1:]))
            for contestant, rates in zip(contestants, runs, strict=True)
        ]
        row = Row(title, "per second", figures[0], tuple(figures[1:]), goal, note)
        self.tell(row)
        return row

    def at_round(self, title: str, number: int) -> None:
        """Show which round is on; the one before the first, 0, is the warm-up."""
        self.at(title, f"round {number} of {self.rounds}" if number else "warm-up")

    def at(self, title: str, progress: str) -> None:
        """Show how far the work has come."""
        self._status.update(f"{self._name} · {title} · {progress}")

    def tell(self, row: Row) -> None:
        """Say what was found."""
        told = [f"{row.ours.name} {number(row.ours.median)} {row.unit}"]
        told += [f"{times(row.ratio(peer))} {peer.name}" for peer in row.peers]
        if row.goal is not None:
            told.append(f"{verdict(row)} (goal: {goal(row)})")
        self._console.print(f"{self._name} · {row.title}: {', '.join(told)}", soft_wrap=True)

    def _round(
        self, contestants: Sequence[Contestant], turns: Sequence[Iterator[int]]
    ) -> list[float]:
        """The rate of each. Whoever has had the least time goes next, until all have had enough."""
        operations = [0] * len(contestants)
        seconds = [0.0] * len(contestants)
        gc.collect()
        gc.disable()
        try:
            while (least := min(seconds)) < self._round_seconds:
                index = seconds.index(least)
                work = contestants[index].prepare(next(turns[index]))
                start = process_time()
                operations[index] += work()
                seconds[index] += process_time() - start
        finally:
            gc.enable()
        return [done / spent for done, spent in zip(operations, seconds, strict=True)]
