"""A target whose answers the test decides, and that writes down every request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from aiohttp import web
from tests.cluster.nodes import CLOCK, holds
from tests.cluster.sink import Sink, _receipt

if TYPE_CHECKING:
    from uuid import UUID

    from tests.cluster.sink import Receipt


def _open() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class Target(Sink):
    """Answers `status`, after as many milliseconds as the path says: /0, /1500.

    While `answering` is cleared it takes requests and says nothing.
    """

    status: int = 200
    answering: asyncio.Event = field(default_factory=_open)
    busiest: int = 0
    """The most requests that were here at the same time."""
    _calling: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        receipt = _receipt(request)
        await request.read()
        self.receipts.append(receipt)
        self._calling += 1
        self.busiest = max(self.busiest, self._calling)
        try:
            await CLOCK.sleep(timedelta(milliseconds=int(request.match_info["wait"])))
            await self.answering.wait()
        finally:
            self._calling -= 1
        if self.status < 300:
            receipt.answered_at = CLOCK.now()
        return web.Response(status=self.status, text="as the test wants it")

    def of(self, schedule_id: UUID) -> list[Receipt]:
        """A schedule's receipts, in the order they came."""
        return [each for each in self.receipts if each.schedule_id == schedule_id]

    async def received(self, schedule_id: UUID, count: int = 1, *, within: float = 30.0) -> Receipt:
        """The `count`-th request of a schedule, once all its bytes are here (c3)."""
        await holds(lambda: len(self.of(schedule_id)) >= count, within=within)
        return self.of(schedule_id)[count - 1]
