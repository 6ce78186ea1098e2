"""A target on loopback that writes down every request: the witness outside of the database."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from aiohttp import web
from tests.cluster.nodes import CLOCK

from rota import ids

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID


@dataclass
class Receipt:
    """A request that arrived."""

    firing_id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    attempt: int
    catch_up: bool
    key: str
    arrived_at: datetime
    answered_at: datetime | None = None
    """When 200 was sent; None when it was not."""


@dataclass
class Sink:
    """Answers 200, after as many milliseconds as the path says: /0, /1500."""

    url: str
    receipts: list[Receipt] = field(default_factory=list[Receipt])

    def by_firing(self) -> dict[UUID, list[Receipt]]:
        """The receipts of each firing, in the order they came."""
        found: defaultdict[UUID, list[Receipt]] = defaultdict(list)
        for each in self.receipts:
            found[each.firing_id].append(each)
        return dict(found)

    async def answer(self, request: web.Request) -> web.Response:
        receipt = _receipt(request)
        self.receipts.append(receipt)
        await request.read()
        wait = timedelta(milliseconds=int(request.match_info["wait"]))
        if wait:
            await CLOCK.sleep(wait)
        receipt.answered_at = CLOCK.now()
        return web.Response(text="ok")


S = TypeVar("S", bound=Sink)


@asynccontextmanager
async def sink(made: S) -> AsyncGenerator[S]:
    """Serve it as a target, for as long as the block lasts."""
    app = web.Application()
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    app.router.add_post("/{wait:[0-9]+}", made.answer)
    await runner.setup()
    # A herd comes at once; who finds no place tries again after one second, then three, seven, …
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}"
    try:
        yield made
    finally:
        await runner.cleanup()
        # Connections are closed in the next turn of the loop.
        await asyncio.wait({asyncio.create_task(CLOCK.sleep(timedelta()))})


def _receipt(request: web.Request) -> Receipt:
    headers = request.headers
    return Receipt(
        firing_id=ids.from_text(ids.Kind.FIRING, headers["Rota-Firing-Id"]),
        schedule_id=ids.from_text(ids.Kind.SCHEDULE, headers["Rota-Schedule-Id"]),
        scheduled_for=datetime.fromisoformat(headers["Rota-Scheduled-For"]),
        attempt=int(headers["Rota-Attempt"]),
        catch_up=headers["Rota-Catch-Up"] == "true",
        key=headers["Idempotency-Key"],
        arrived_at=CLOCK.now(),
    )
