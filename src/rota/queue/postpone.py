"""Giving claims back for later, because their host cannot take them now. Uses no attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue import hosts_sql as sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim


async def postpone(
    tx: Tx, worker: UUID, claims: Sequence[tuple[Claim, datetime]]
) -> frozenset[UUID]:
    """Give back claims that were not begun, each to be claimed again at its instant; which it were.

    The attempt number goes back too: nothing was tried.
    """
    rows = await tx.fetch(
        sql.POSTPONE,
        worker,
        [claim.id for claim, _ in claims],
        [claim.attempt for claim, _ in claims],
        [until for _, until in claims],
        [claim.available_at for claim, _ in claims],
    )
    return frozenset(row["id"] for row in rows)
