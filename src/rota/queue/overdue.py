"""Claims left to their targets, whose time is up or whose end somebody has asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rota.queue import claimed_sql
from rota.queue.claimed import of_row
from rota.queue.states import NOBODY

if TYPE_CHECKING:
    from rota.db import Tx
    from rota.queue.claimed import Claimed

BATCH: Final = 500


async def overdue(tx: Tx) -> list[Claimed]:
    """Some of them, ours until the transaction ends. Whoever asks judges them, and settles them as
    `NOBODY`; many processes may do this at the same time, each claim is one's."""
    return [of_row(row) for row in await tx.fetch(claimed_sql.OVERDUE, BATCH, NOBODY)]
