"""What pull workers need beside the API: news for those who wait, and somebody who rescues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.db.locks import QUEUE
from rota.service import Service
from rota.workers.rescuer import Rescuer
from rota.workers.settings import WorkerSettings

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

    services = [Service("pull", polls.pass_on, wait=hear, bus=bus, clock=clock)]
    if "worker" not in config.roles:
        # All may be done by pull workers: then nobody else looks after claims that have run out.
        settings = WorkerSettings(lead=config.lead)
        rescuer = Rescuer(db, bus, clock=clock, grace=settings.rescue_grace)
        services.append(
            Service("rescue", rescuer.run_once, wait=settings.rescue_interval, bus=bus, clock=clock)
        )
    for service in services:
        service.start()
        stack.push_async_callback(service.stop)
