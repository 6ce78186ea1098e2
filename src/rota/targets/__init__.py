"""Targets: where a firing goes. Values that are valid by the time they exist.

The `read` of each kind takes what an owner wrote and either gives the target or raises
`InvalidTarget` with everything that is wrong, field by field. Whether it may be called at all is
for `TargetPolicy` to say: when a schedule is written, and again when the connection is made, since
a name can point elsewhere by then.
"""

from __future__ import annotations

from rota.targets.celery import CeleryTarget
from rota.targets.errors import InvalidTarget, Problem, TargetRefused
from rota.targets.http import HttpTarget
from rota.targets.policy import OPEN, TargetPolicy
from rota.targets.stream import StreamTarget
from rota.targets.task import TaskTarget

Target = HttpTarget | TaskTarget | StreamTarget | CeleryTarget

__all__ = [
    "OPEN",
    "CeleryTarget",
    "HttpTarget",
    "InvalidTarget",
    "Problem",
    "StreamTarget",
    "Target",
    "TargetPolicy",
    "TargetRefused",
    "TaskTarget",
]
