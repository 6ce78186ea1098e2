"""Ending a firing because somebody asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rota.queue import cancel_sql as sql
from rota.queue.states import NOBODY, RECALLS

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx

Answer = Literal["ended", "asked"]


async def cancel(tx: Tx, firing_id: UUID, reason: str) -> Answer | None:
    """`ended` when no worker had it; `asked` when the one that has it was told; None if not live.

    What was left to its target is ended at once: nobody but the target would know, and it hears of
    it when it comes to complete it.

    A worker that is told ends it within a moment, and what it then records is what happened: an
    attempt that was already over keeps its outcome.
    """
    answer: Answer | None = await tx.fetch_value(
        sql.CANCEL, firing_id, reason, sorted(RECALLS), NOBODY
    )
    return answer
