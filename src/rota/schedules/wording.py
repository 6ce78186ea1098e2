"""Writing the words that schedules are found by, of those that were made by the thousand.

It takes longer than making them does, so it follows in small steps, with pauses: whoever makes
more must not wait for it. What has no words yet is found all the same, only not as quickly.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.schedules import listing_sql

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.db import Database

INTERVAL: Final = timedelta(seconds=5)
STEP: Final = 1_000


class Wording:
    """Any number of nodes may have one; each takes what no other has in hand."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def run_once(self) -> int:
        """Write all that is missing; how many schedules were looked at."""
        count = 0
        while True:
            start = self._clock.monotonic()
            written, any_left = await self._db.run(
                lambda tx: listing_sql.write_words(tx, limit=STEP), repeatable=True
            )
            count += written
            if not any_left:
                return count
            # Half of a core at most.
            await self._clock.sleep(timedelta(seconds=self._clock.monotonic() - start))
