"""Locking what follows before what ends: schedules first, then their rows of the queue.

Whoever changes schedules locks them in that order. An end that had its rows and then asked for the
schedules that follow would wait for one who has those and asks for the rows. But nearly nothing is
followed, and nobody should have to ask each time: so it is remembered which schedules were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rota.queue import follow_sql as sql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from rota.db import Tx

MOST: Final = 10_000


class Chains:
    """Which schedules are followed, as far as whoever records ends has seen.

    The first end of each is locked in the other order; at worst PostgreSQL ends one of two that
    wait for each other, and it is tried again.
    """

    def __init__(self) -> None:
        self._followed: set[UUID] = set()

    def saw(self, schedule_ids: Iterable[UUID]) -> None:
        """Somebody follows these."""
        if len(self._followed) >= MOST:
            self._followed.clear()
        self._followed.update(schedule_ids)

    async def lock(self, tx: Tx, schedule_ids: Iterable[UUID]) -> None:
        """Hold what follows these until the transaction ends; to be asked before their rows are."""
        if not self._followed:
            return
        known = self._followed.intersection(schedule_ids)
        if known and not await tx.fetch(sql.LOCK_FOLLOWERS, sorted(known)):
            self._followed -= known
