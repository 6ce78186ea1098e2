"""What can be wrong with what an owner asks of a schedule.

CallerError
├── InvalidInput
│   └── InvalidSchedule     every problem of a definition at once, field by field
├── NoSuchSchedule          none of the tenant's has this id or key
├── DuplicateKey            another schedule of the tenant has the key
├── VersionChanged          it is not, or no more, of the version that the caller knows
├── QuotaReached            the tenant has as many schedules as it may have
├── IsAMonitor              it waits for pings, so there is nothing to run
└── CannotReplay            the firing is not one that can be repeated
"""

from __future__ import annotations

from rota.errors import CallerError, InvalidInput
from rota.targets import Problem

__all__ = [
    "CannotReplay",
    "DuplicateKey",
    "InvalidSchedule",
    "IsAMonitor",
    "NoSuchSchedule",
    "Problem",
    "QuotaReached",
    "VersionChanged",
]


class InvalidSchedule(InvalidInput):
    """All that is wrong with a definition; `field` is the first problem's."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(_sentence(problems), field=problems[0].field)
        self.problems = problems


class NoSuchSchedule(CallerError):
    """The tenant has no such schedule."""

    def __init__(self) -> None:
        super().__init__("there is no schedule of yours with this id or key")


class DuplicateKey(CallerError):
    """A schedule with this key is there already."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        shown = ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")
        super().__init__(
            f"expected a key that is not in use, got {shown}; "
            "to change the schedule that has it, update it or put it by its key"
        )
        self.keys = keys


class VersionChanged(CallerError):
    """Somebody else has changed it since the caller looked."""

    def __init__(self, version: int | None) -> None:
        got = "none" if version is None else f"version {version}"
        super().__init__(
            f"expected the schedule to be of the version in If-Match, got {got}: read it again"
        )


class CannotReplay(CallerError):
    """The firing stands for several slots, or its schedule is gone."""


class IsAMonitor(CallerError):
    """A run is asked for of what runs nothing."""

    def __init__(self) -> None:
        super().__init__("expected a schedule with a target, got a monitor: ping it instead")


class QuotaReached(CallerError):
    """The tenant may not have more schedules."""

    def __init__(self, most: int) -> None:
        super().__init__(f"expected at most {most} schedules, as the tenant may have; got more")
        self.most = most


def _sentence(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return problems[0].message
    return f"{len(problems)} fields are wrong: " + "; ".join(each.message for each in problems[:10])
