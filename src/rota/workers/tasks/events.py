"""What there is to say about tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event

if TYPE_CHECKING:
    from datetime import timedelta
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUnknown(Event):
    """A firing of a task that this worker does not have: it goes back, for a worker that does.

    Said once a minute for each task. A new task that not every worker has yet is the usual reason;
    one that stays unknown was renamed or removed while runs of it were waiting.
    """

    task: str
    queue: str
    firing_id: UUID
    schedule_id: UUID
    again_in: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded(Event):
    """A child process in which tasks run ended by itself: the run it had has failed."""

    task: str
    exit_code: int | None
