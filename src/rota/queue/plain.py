"""Plain successes: of tasks that were enqueued, at their first attempt, with nothing to add. Pure.

They are recorded by a statement of their own (`plain_sql`), which writes one row for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.queue.finish import Settlement

NO_HEADERS: Final = "[]"


def is_plain(each: Settlement) -> bool:
    """Whether the firing's own row can tell all that is to be told of it."""
    claim, tried = each.claim, each.tried
    return (
        each.status == "succeeded"
        and claim.attempt == 1
        and claim.triggered_by == "enqueue"
        and tried is not None
        and tried.outcome == "succeeded"
        and tried.request is None
        and tried.error is None
        and each.code is None
        and each.step is None
        and each.reason is None
        and claim.saga is None
        # Of a task, an answer has a body and no headers.
        and tried.response_headers == (None if tried.response_body is None else NO_HEADERS)
    )


def apart(batch: Sequence[Settlement]) -> tuple[list[Settlement], list[Settlement]]:
    """The plain ones, and the others."""
    plainly: list[Settlement] = []
    others: list[Settlement] = []
    for each in batch:
        (plainly if is_plain(each) else others).append(each)
    return plainly, others


def columns(batch: Sequence[Settlement]) -> tuple[list[object], ...]:
    """What `plain_sql.PLAIN` wants of a batch, sorted by id, after the worker."""
    tasks: dict[str | None, int] = {}
    numbers: list[object] = []
    excerpts: list[object] = []
    results: list[object] = []
    for each in batch:
        tried = each.tried
        assert tried is not None
        numbers.append(tasks.setdefault(tried.task, len(tasks) + 1))
        excerpts.append(each.excerpt)
        results.append(tried.response_body)
    has_results = any(results) or any(excerpts)
    return (
        [each.claim.id for each in batch],
        [each.started_at for each in batch],
        [each.finished_at for each in batch],
        list(tasks),
        numbers if len(tasks) > 1 else [],
        excerpts if has_results else [],
        results if has_results else [],
    )
