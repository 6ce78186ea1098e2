"""The functions that a process knows how to run, by the name of their task."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rota.errors import RotaError
from rota.targets import TaskTarget
from rota.workers.tasks.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RunsIn = Literal["loop", "thread", "process"]
"""Where a function runs: on the event loop, in a thread, or in a process of its own kind."""


class InvalidTask(RotaError, TypeError):
    """A function that cannot be a task, or a name that is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A task: its name, its function, and what must be known to call it. Made by `TaskSpec.of`."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    queue: str
    runs_in: RunsIn
    is_async: bool
    signature: Signature = field(repr=False)
    """What it takes and gives, and which parameter gets the `Context`."""

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        queue: str = "default",
        runs_in: RunsIn | None = None,
    ) -> TaskSpec:
        """The task of this function, called `name` or as the function is, `module.function`.

        Without `runs_in`, `async def` runs on the loop and `def` in a thread. Raises `InvalidTask`
        or `InvalidTarget` (a name that cannot be one) with a sentence that says what is wrong.
        """
        is_async = inspect.iscoroutinefunction(function)
        name = name or default_name(function)
        TaskTarget.read(name, queue)
        where: RunsIn = runs_in or ("loop" if is_async else "thread")
        _require_place(function, name, where, is_async=is_async)
        return cls(
            name=name,
            function=function,
            queue=queue,
            runs_in=where,
            is_async=is_async,
            signature=Signature.of(function),
        )

    @property
    def is_light(self) -> bool:
        """Whether it takes nothing but a call to run it: on the loop, and told nothing."""
        return self.runs_in == "loop" and self.signature.context is None

    @property
    def wants_context(self) -> str | None:
        """The parameter that gets the `Context`; None when none asks for it."""
        return self.signature.context

    @property
    def import_path(self) -> str:
        """Where another process finds the function: `module:name`."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


class Registry:
    """Tasks by name (a schedule's `job_type`). One for each `Rota`; filled before a worker runs."""

    def __init__(self) -> None:
        self._specs: dict[str, TaskSpec] = {}

    def add(self, spec: TaskSpec) -> TaskSpec:
        """Know this task. `InvalidTask` when another function has the name already."""
        earlier = self._specs.get(spec.name)
        if earlier is not None and not _is_same(earlier, spec):
            raise InvalidTask(
                f"Two functions are the task {spec.name!r}: {earlier.import_path} and "
                f"{spec.import_path}. Give one of them another name with name=…"
            )
        self._specs[spec.name] = spec
        return spec

    def get(self, name: str) -> TaskSpec | None:
        return self._specs.get(name)

    @property
    def queues(self) -> frozenset[str]:
        """The queues that its tasks wait in."""
        return frozenset(spec.queue for spec in self._specs.values())

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[TaskSpec]:
        return iter(tuple(self._specs.values()))

    def __len__(self) -> int:
        return len(self._specs)


def default_name(function: Callable[..., Any]) -> str:
    """`module.function`, in the letters that a task's name may have."""
    path = getattr(function, "__qualname__", type(function).__qualname__).replace("<locals>.", "")
    return f"{function.__module__}.{path}".replace("<lambda>", "lambda")


def _require_place(
    function: Callable[..., Any], name: str, where: RunsIn, *, is_async: bool
) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidTask(f"The task {name!r} is a generator: expected a function that returns.")
    if is_async and where == "thread":
        raise InvalidTask(
            f"The task {name!r} is async def, which runs on the loop (or runs_in='process'): "
            f"leave runs_in='thread' out, or make it a plain def."
        )
    if where == "loop" and not is_async:
        raise InvalidTask(
            f"The task {name!r} is a plain def, which would hold up every other task on the "
            f"loop: make it async def, or let it run in a thread or runs_in='process'."
        )
    if where == "process" and "<locals>" in function.__qualname__:
        raise InvalidTask(
            f"The task {name!r} is defined inside a function, where another process cannot "
            f"import it: move it to the top of its module, or leave runs_in='process' out."
        )


def _is_same(one: TaskSpec, other: TaskSpec) -> bool:
    """The same function, or the same one imported once more (`python -m` runs a module twice)."""
    if one.function is other.function:
        return True
    code, other_code = (getattr(each.function, "__code__", None) for each in (one, other))
    return code is not None and code == other_code
