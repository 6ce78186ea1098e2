"""What a function takes, and where its context goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.targets import InvalidTarget
from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks
from rota.workers.tasks.registry import InvalidTask, Registry, TaskSpec
from rota.workers.tasks.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal as Unknown


def first(context: Context, a: int) -> Any:
    return context, a


def middle(a: int, context: Context, b: int = 2) -> Any:
    return a, context, b


def last(a: int, *, ctx: Context) -> Any:
    return a, ctx


def only_named(a: int, context: Context, /) -> Any:
    return a, context


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "got"),
    [
        (first, [1], {}, ("C", 1)),
        (first, [], {"a": 1}, ("C", 1)),
        (middle, [1], {}, (1, "C", 2)),
        (middle, [1, 3], {}, (1, "C", 3)),
        (middle, [], {"a": 1}, (1, "C", 2)),
        (last, [1], {}, (1, "C")),
        (only_named, [1], {}, (1, "C")),
    ],
)
def test_the_context_goes_where_the_function_has_it(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], got: Any
) -> None:
    signature = Signature.of(function)
    signature.give(args, kwargs, "C")
    assert function(*args, **kwargs) == got
    assert "Context" not in signature.text


def test_a_name_that_only_the_type_checker_knows_is_no_obstacle() -> None:
    def function(a: Unknown, context: Context) -> Unknown: ...

    signature = Signature.of(function)
    assert signature.context == "context"
    assert signature.positional[0][1].convert({"any": "thing"}) == {"any": "thing"}


async def on_loop() -> None: ...
def in_thread() -> None: ...
def generator() -> Any:
    yield 1


def test_where_a_function_runs_is_told_by_its_kind() -> None:
    assert TaskSpec.of(on_loop).runs_in == "loop"
    assert TaskSpec.of(in_thread).runs_in == "thread"
    assert TaskSpec.of(in_thread, runs_in="process").runs_in == "process"
    assert TaskSpec.of(on_loop, runs_in="process").is_async


@pytest.mark.parametrize(
    ("function", "runs_in", "said"),
    [
        (on_loop, "thread", "is async def, which runs on the loop"),
        (in_thread, "loop", "is a plain def, which would hold up every other task"),
        (generator, None, "is a generator"),
    ],
)
def test_a_function_that_cannot_be_a_task_is_refused(
    function: Callable[..., Any], runs_in: Any, said: str
) -> None:
    with pytest.raises(InvalidTask, match=said):
        TaskSpec.of(function, runs_in=runs_in)


def test_a_local_function_cannot_run_in_another_process() -> None:
    def local() -> None: ...

    with pytest.raises(InvalidTask, match="another process cannot import it"):
        TaskSpec.of(local, runs_in="process")


def test_a_name_is_for_one_function() -> None:
    registry = Registry()
    spec = registry.add(TaskSpec.of(in_thread, name="one", queue="reports"))
    assert registry.add(TaskSpec.of(in_thread, name="one")).function is spec.function
    with pytest.raises(InvalidTask, match=r"Two functions are the task 'one'.*name="):
        registry.add(TaskSpec.of(on_loop, name="one"))
    assert registry.get("two") is None
    assert "one" in registry
    assert [each.name for each in registry] == ["one"]


def test_a_name_or_queue_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InvalidTarget, match="job_type"):
        TaskSpec.of(in_thread, name="two words")
    with pytest.raises(InvalidTarget, match="queue"):
        TaskSpec.of(in_thread, queue="http")
