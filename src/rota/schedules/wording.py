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
LATELY: Final = timedelta(seconds=2)


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
            step = await self._db.run(
                lambda tx: listing_sql.write_words(tx, limit=STEP, lately=LATELY), repeatable=True
            )
            count += step.written
            if not step.any_left:
                return count
            # Half of a core at most, and hardly any of it while somebody is making more.
            rest = 15 if step.more_come else 1
            took = self._clock.monotonic() - start
            await self._clock.sleep(timedelta(seconds=took * rest))
