"""A saga: tasks as the steps of one schedule, each with what undoes it (DS10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rota.library import asking, naming
from rota.library import declared_sql as sql
from rota.library.handles import Handle
from rota.library.policies import fields_of
from rota.library.task import Task
from rota.schedules import run_now
from rota.schedules.errors import NoSuchSchedule
from rota.schedules.steps import CALL
from rota.tenants.tenant import actor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.library.app import Rota
    from rota.library.running import Running

AnyTask = Task[..., Any]
Step = AnyTask | tuple[AnyTask, AnyTask]
"""A task; or a task, and the one that undoes it."""


class Saga:
    """Steps that run one after another; when one dies, those before it are undone in reverse.

    Each step is called with what `start` was given. One with a parameter `steps` is told what those
    before it have returned, by their names.
    """

    def __init__(self, rota: Rota, key: str, steps: Sequence[AnyTask]) -> None:
        self.rota = rota
        self.key = key
        # What comes of it all is what its last step returns.
        self._spec = replace(steps[-1].spec, name=key)

    def start(self, **arguments: Any) -> Handle[Any]:
        """Run it once, now. In async code, `await` it; in sync code it is done when this returns.

        Its result is that of the last step; `TaskFailed` says which step died, and what was undone.
        """

        async def work(running: Running) -> list[UUID]:
            async def write(tx: Tx) -> list[UUID]:
                found = await sql.ids(tx, running.tenant.id, [self.key])
                if not found:
                    raise NoSuchSchedule
                run = await run_now.trigger_now(
                    tx, running.tenant, found[0], payload=arguments or None
                )
                return [run.id]

            return await running.db.run(write, actor=actor("code", self.rota.app))

        if self.rota.stand_in is not None:
            id_ = self.rota.stand_in.start(self.key, arguments or None)
            return Handle(self.rota, self._spec, id_)
        entered = asking.answer(self.rota, work)
        if isinstance(entered, list):
            return Handle(self.rota, self._spec, entered[0])
        return Handle(self.rota, self._spec, None, entered)

    def __repr__(self) -> str:
        return f"<saga {self.key}>"


def parts(steps: Sequence[Step]) -> tuple[list[AnyTask], list[dict[str, Any]]]:
    """The tasks of the steps, and the steps as the API takes them; TypeError for other things."""
    tasks: list[AnyTask] = []
    fields: list[dict[str, Any]] = []
    for each in steps:
        pair: tuple[AnyTask, ...] = each if isinstance(each, tuple) else (each,)
        if len(pair) not in {1, 2} or not all(map(_is_task, pair)):
            raise TypeError(
                "expected each step to be a task, or a pair of a task and what undoes it, "
                f"got {each!r:.80}"
            )
        tasks.append(pair[0])
        step = {"name": naming.function_name(pair[0].function) or "", **_call(pair[0])}
        fields.append(step if len(pair) == 1 else {**step, "compensate": _call(pair[1])})
    if not tasks:
        raise TypeError("expected at least one step, got none")
    return tasks, fields


def _is_task(given: object) -> bool:
    return isinstance(given, Task)


def _call(task: AnyTask) -> dict[str, Any]:
    own = {name: value for name, value in fields_of(task.policies).items() if name in CALL}
    return {**own, "job_type": task.name, "queue": task.spec.queue}
