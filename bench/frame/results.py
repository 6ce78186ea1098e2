"""What a benchmark found, as values: every run is kept, and all else is computed from the runs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import date

#: Whether a larger or a smaller figure is the better one.
Better = Literal["more", "less"]


@dataclass(frozen=True, slots=True)
class Figure:
    """What one contestant reached in each round."""

    name: str
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.runs)

    def best(self, better: Better) -> float:
        return max(self.runs) if better == "more" else min(self.runs)


@dataclass(frozen=True, slots=True)
class Goal:
    """What we want to reach: so many times a peer's figure, or without a peer a figure."""

    value: float
    peer: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One piece of work, done by us and by those of the peers who can do it."""

    title: str
    unit: str
    ours: Figure
    peers: tuple[Figure, ...] = ()
    goal: Goal | None = None
    note: str = ""
    better: Better = "more"

    def ratios(self, peer: Figure) -> tuple[float, ...]:
        """How many times better we were than the peer, round by round."""
        pairs = zip(self.ours.runs, peer.runs, strict=True)
        if self.better == "more":
            return tuple(_times(our, their) for our, their in pairs)
        return tuple(_times(their, our) for our, their in pairs)

    def ratio(self, peer: Figure) -> float:
        """The median of the rounds' ratios: noise that hits a whole round cancels out."""
        return median(self.ratios(peer))

    @property
    def towards_goal(self) -> float | None:
        """What is compared with the goal."""
        if self.goal is None:
            return None
        if self.goal.peer is None:
            return self.ours.median
        [peer] = [peer for peer in self.peers if peer.name == self.goal.peer]
        return self.ratio(peer)

    @property
    def reached(self) -> bool | None:
        """Whether the goal was reached; None where there is none."""
        value = self.towards_goal
        if self.goal is None or value is None:
            return None
        if self.goal.peer is None and self.better == "less":
            return value <= self.goal.value
        return value >= self.goal.value


def _times(one: float, other: float) -> float:
    """How many times the other it is; of an idle run, a figure may be nothing at all."""
    if one == other:
        return 1.0
    return one / other if other else float("inf")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured."""

    cores: int
    load: float
    """Processes that wanted a core as the run began: above 0, others were running."""
    system: str
    python: str
    packages: dict[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark's findings."""

    name: str
    title: str
    taken_on: date
    machine: Machine
    method: tuple[str, ...]
    rows: tuple[Row, ...]
