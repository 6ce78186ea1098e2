"""What type checkers know of tasks: checked by `make check`, never run."""
# pyright: reportUnnecessaryTypeIgnoreComment=error

from typing import TYPE_CHECKING, Any, assert_type

from rota import Context, Handle, Rota
from rota.library.task import SyncTask

if TYPE_CHECKING:
    from collections.abc import Coroutine

rota = Rota()


@rota.task
def resize(image_id: int, size: str = "big") -> str:
    return f"{image_id} {size}"


@rota.task(max_attempts=5, queue="reports", timeout="5m")
async def report(month: int) -> list[int]:
    return [month]


@rota.task
async def copy(context: Context, path: str) -> bool:
    return bool(context and path)


@rota.schedule("every weekday at 9am", timezone="America/New_York")
async def morning() -> None: ...


@rota.schedule("1h", key="hourly", payload={"month": 1})
@rota.task
def twice(month: int) -> int:
    return month


async def types() -> None:
    assert isinstance(resize, SyncTask)
    assert_type(resize(42), str)
    assert_type(resize.enqueue(42, size="small"), Handle[str])
    assert_type(resize.enqueue(42, delay="10m"), Handle[str])
    resize.enqueue("forty-two")  # pyright: ignore[reportArgumentType]
    resize("forty-two")  # pyright: ignore[reportArgumentType]
    resize.enqueue(42, colour="red")  # pyright: ignore[reportCallIssue]
    work: Coroutine[Any, Any, list[int]] = report(3)
    assert_type(await work, list[int])
    assert_type(await report.enqueue(3), Handle[list[int]])
    assert_type(await (await report.enqueue(3)).result(timeout=5), list[int])
    # A Context comes from the worker: it is no argument of who enqueues.
    assert_type(copy.enqueue("a"), Handle[bool])
    copy.enqueue(7)  # pyright: ignore[reportArgumentType]
    assert_type(await morning(), None)
    assert_type(twice(3), int)
    rota.task(max_retries=3)  # pyright: ignore[reportCallIssue]
    rota.schedule(5)  # pyright: ignore[reportArgumentType]
