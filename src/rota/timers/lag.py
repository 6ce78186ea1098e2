"""How far behind the timers are, shard by shard: one step into the index for each."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from rota.db import Tx

_LAGS: LiteralString = """
    SELECT l.shard, clock_timestamp() - t.due_at AS lag
      FROM leases l
     CROSS JOIN LATERAL (
           SELECT due_at FROM timers
            WHERE shard = l.shard AND due_at < statement_timestamp()
            ORDER BY due_at
            LIMIT 1) AS t
"""


async def lags(tx: Tx) -> dict[int, timedelta]:
    """By how much the oldest overdue timer of each shard is late; shards without one are left out.

    Timers are fired ahead of their instant: in a healthy cluster there is none.
    """
    rows = await tx.fetch(_LAGS)
    return {row["shard"]: max(row["lag"], timedelta()) for row in rows}
