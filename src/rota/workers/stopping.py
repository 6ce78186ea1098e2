"""Stopping in order: no more claims, unstarted ones back, what runs finished, the rest returned.

Each step has a moment; what it does not manage in that is left for rescue.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.heartbeat import release
from rota.workers.inflight import Phase, Stop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection
    from uuid import UUID

    from rota.db import Database
    from rota.queue.claim import Claim
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.executor import Executor
    from rota.workers.inflight import Inflight

CLOSE_TIMEOUT = timedelta(seconds=5)


def unstarted(inflight: Inflight, delay_queue: DelayQueue) -> list[Claim]:
    """Forget all that has not begun, and say what it was."""
    claims: list[Claim] = []
    delay_queue.clear()
    for held in inflight:
        if held.unstarted:
            held.phase = Phase.COMPLETING
            inflight.remove(held)
            claims.append(held.claim)
    return claims


async def give_back(
    db: Database, worker: UUID, claims: Collection[Claim], rows: asyncio.Lock
) -> None:
    """Return claims to the queue as if they had never been made."""
    if claims:
        async with rows, db.transaction() as tx:
            await release(tx, worker, claims)


async def end_attempts(inflight: Inflight, executor: Executor, grace: timedelta) -> None:
    """Let what runs come to its end within the grace; break off what does not."""
    await executor.drained(grace)
    for held in inflight:
        executor.break_off(held, Stop.INTERRUPTED)
    await executor.drained(CLOSE_TIMEOUT)
