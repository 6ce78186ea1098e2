"""What a process says about itself, as alerts: heard on its bus, recorded when there is a database.

A listener on the bus must not wait, so what it hears is kept until the next pass. What was heard
while the database was away is recorded once it is back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.watch import alerts
from rota.watch.alerts import Trouble

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.events import Bus, Event


class Heard:
    """Of one node, which is what its alerts are about."""

    def __init__(self, db: Database, node: UUID, bus: Bus) -> None:
        self._db = db
        self._subject = str(node)
        self._bus = bus
        self._troubles: dict[str, Trouble] = {}
        self._over: set[str] = set()
        self._told: set[str] = set()

    def trouble(self, kind: str, detail: str, *, at: datetime | None = None) -> None:
        """This has begun, or has happened again."""
        before = self._troubles.get(kind)
        count = 1 if before is None else before.count + 1
        self._troubles[kind] = Trouble(
            subject=self._subject, detail=detail, count=count, seen_at=at
        )
        self._over.discard(kind)

    def over(self, kind: str) -> None:
        """It has ended; told even if it had not been recorded yet."""
        self._over.add(kind)

    def told(self, kind: str) -> None:
        """Those who want to hear of it have been notified already."""
        self._told.add(kind)

    async def run_once(self) -> int:
        """Record what was heard; how much it was."""
        if not self._troubles and not self._over:
            return 0
        troubles, over, told = dict(self._troubles), set(self._over), set(self._told)

        async def work(tx: Tx) -> list[Event]:
            news: list[Event] = []
            for kind, trouble in troubles.items():
                opened = await alerts.open_(tx, kind, [trouble])
                if kind in told:
                    await alerts.mark_told(tx, [each.alert_id for each in opened])
                news += opened
            # So that a trouble that came and went between two passes is heard of, too.
            await alerts.tell(tx)
            for kind in over:
                ended = [
                    each.id
                    for each in await alerts.are_open(tx, kind)
                    if each.subject == self._subject
                ]
                news += await alerts.close(tx, ended)
            return news

        news = await self._db.run(work)
        self._troubles = {
            kind: each for kind, each in self._troubles.items() if troubles.get(kind) is not each
        }
        self._over -= over
        self._told -= told
        for each in news:
            self._bus.publish(each)
        return len(troubles) + len(over)
