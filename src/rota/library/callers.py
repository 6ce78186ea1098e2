"""The callers of a program's own lanes: its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workers.delivery.request_signing import RequestSigner
from rota.workers.tasks.caller import TaskCaller

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import AsyncExitStack

    from rota.runtime.parts import Engine
    from rota.workers.caller import Caller
    from rota.workers.tasks.registry import Registry


def open_callers(
    stack: AsyncExitStack,
    engine: Engine,
    registry: Registry,
    lanes: Collection[str],
    *,
    concurrency: int,
) -> Mapping[str, Caller]:
    """One caller for all of them: it finds a task by its name, whatever its lane."""
    if not lanes:
        return {}
    caller = TaskCaller(
        registry,
        db=engine.opened.db,
        worker=engine.node.id,
        concurrency=concurrency,
        bus=engine.bus,
        clock=engine.clock,
        signer=RequestSigner(engine.opened.db, engine.opened.vault, time=engine.time),
    )
    stack.callback(caller.close)
    return dict.fromkeys(lanes, caller)
