"""Targets: where a firing goes. Values that are valid by the time they exist.

`HttpTarget.read` and `TaskTarget.read` take what an owner wrote and either give the target or raise
`InvalidTarget` with everything that is wrong, field by field. Whether an address may be called at
all is not decided here but when the connection is made: a name can point elsewhere by then.
"""

from __future__ import annotations

from rota.targets.errors import InvalidTarget, Problem
from rota.targets.http import HttpTarget
from rota.targets.task import TaskTarget

Target = HttpTarget | TaskTarget

__all__ = ["HttpTarget", "InvalidTarget", "Problem", "Target", "TaskTarget"]
