"""What pull workers need beside the API: news for those who wait, and somebody who rescues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.runtime.loop import Loop, every
from rota.workers.news import QUEUE
from rota.workers.pace import Pace
from rota.workers.rescuer import Rescuer

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from rota.api.polls import Polls
    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database, Listener
    from rota.events import Bus


def start_pull(
    stack: AsyncExitStack,
    db: Database,
    polls: Polls,
    config: Config,
    *,
    news: Listener,
    bus: Bus,
    clock: Clock,
) -> None:
    """Pass news on to those who wait; and rescue, where no worker of Rota's own would."""
    waiting = news.subscribe(QUEUE)

    async def hear() -> None:
        await polls.hear(waiting)

    loops = [Loop("pull", polls.pass_on, wait=hear, bus=bus, clock=clock)]
    if "worker" not in config.roles:
        # All may be done by pull workers: then nobody else looks after claims that have run out.
        pace = Pace(lead=config.lead)
        rescuer = Rescuer(db, bus, clock=clock, grace=pace.rescue_grace)
        wait = every(pace.rescue_interval, clock)
        loops.append(Loop("rescue", rescuer.run_once, wait=wait, bus=bus, clock=clock))
    for loop in loops:
        loop.start()
        stack.push_async_callback(loop.stop)
