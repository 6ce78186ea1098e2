"""The shapes of the decorators, for type checkers: what goes in, and which `Task` comes out.

`async def` and `def`, each with or without a `Context` first: four ways to be decorated, and a
`Task` that is decorated once more is the same `Task`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from rota.library.task import AsyncTask, SyncTask, Task
    from rota.workers.tasks.context import Context

P = ParamSpec("P")
R = TypeVar("R")
AnyTask = TypeVar("AnyTask", bound="Task[..., Any]")


class Decorator(Protocol):
    """What `@rota.task(…)` and `@rota.schedule(…)` are."""

    @overload
    def __call__(self, function: AnyTask, /) -> AnyTask: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] - a Context first comes first
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
