"""A task: the function as it was, and the ways to have it run by a worker."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from rota.library import naming
from rota.library.declaration import is_task_key
from rota.library.enqueueing import Enqueueable
from rota.library.errors import InvalidDeclaration

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from rota.library.app import Rota
    from rota.library.enqueueing import Options
    from rota.workers.tasks.registry import TaskSpec

P = ParamSpec("P")
R = TypeVar("R")


class Task(Enqueueable[P, R]):
    """What a decorator makes of a function. Calling it calls the function, here and now.

    `task.enqueue(…)` has a worker call it. `P` is what it takes, without a `Context`; `R` what a
    run of it gives.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __init__(
        self, rota: Rota, spec: TaskSpec, *, key: str, policies: Mapping[str, Any]
    ) -> None:
        self.rota = rota
        self.spec = spec
        self.key = key
        """The key of the schedule that what is enqueued belongs to."""
        self.policies = dict(policies)
        """What the decorator was given; a schedule of this task begins with it."""
        functools.update_wrapper(cast("Callable[..., Any]", self), spec.function)

    @property
    def name(self) -> str:
        """What workers know it by."""
        return self.spec.name

    @property
    def function(self) -> Callable[..., Any]:
        """The function as it was written."""
        return self.spec.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as if it had not been decorated."""
        return self.spec.function(*args, **kwargs)

    def _enter(self, payloads: Sequence[bytes | None], options: Options) -> Any:
        # What waits of a schedule counts for its overlap: a run for tomorrow would skip its slots.
        if not is_task_key(self.key):
            raise InvalidDeclaration(
                f"{naming.where(self.function)}: expected a task to enqueue, got a function that "
                "has a schedule alone: put @rota.task below its @rota.schedule"
            )
        return super()._enter(payloads, options)

    def __repr__(self) -> str:
        return f"<task {self.name}>"


class SyncTask(Task[P, R]):
    """Of a plain `def`."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class AsyncTask(Task[P, R]):
    """Of an `async def`."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]: ...
