"""Stopping in order: no more claims, unstarted ones back, what runs finished, the rest returned.

Each step has a moment; what it does not manage in that is left for rescue.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.extend import release
from rota.workers.held import Phase, Stop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from uuid import UUID

    from rota.db import Database
    from rota.queue.claim import Claim
    from rota.workers.agenda import Agenda
    from rota.workers.hands import Hands
    from rota.workers.holdings import Holdings
    from rota.workers.unending import Unending

CLOSE_TIMEOUT = timedelta(seconds=5)


async def end_claiming(claiming: asyncio.Task[None] | None) -> None:
    """Let the pass under way come to its end; a database that is away has no say in it."""
    if claiming is None:
        return
    _, late = await asyncio.wait({claiming}, timeout=CLOSE_TIMEOUT.total_seconds())
    if late:
        claiming.cancel()
        await asyncio.wait(late)


def unstarted(holdings: Holdings, agenda: Agenda) -> list[Claim]:
    """Forget all that has not begun, and say what it was."""
    claims: list[Claim] = []
    agenda.clear()
    for held in holdings:
        if held.unstarted:
            held.phase = Phase.SETTLING
            holdings.remove(held)
            claims.append(held.claim)
    return claims


async def give_back(
    db: Database, worker: UUID, claims: Collection[Claim], rows: asyncio.Lock
) -> None:
    """Return claims to the queue as if they had never been made."""
    if claims:
        async with rows, db.transaction() as tx:
            await release(tx, worker, claims)


async def end_attempts(
    holdings: Holdings, hands: Hands, unending: Unending, grace: timedelta
) -> None:
    """Let what runs come to its end within the grace; break off what does not."""
    await hands.ended(grace)
    for held in holdings:
        unending.break_off(held, Stop.INTERRUPTED)
    await hands.ended(CLOSE_TIMEOUT)


async def briefly(
    part: str,
    work: Callable[[], Awaitable[object]],
    troubled: Callable[[str, Exception], None],
) -> None:
    """One step, with an end: the others must have their turn."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT.total_seconds()):
            await work()
    except Exception as error:  # noqa: BLE001 - see above
        troubled(part, error)
