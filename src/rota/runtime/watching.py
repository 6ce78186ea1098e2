"""The watchers of a process: those that notice, on every node, and those that tell, on workers."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.firing.events import CaughtUp, FallingBehind
from rota.runtime.database import DatabaseAway, DatabaseBack
from rota.runtime.notifying import Webhooks
from rota.runtime.targets import reporter, target_policy
from rota.runtime.tzdata_updater import TzdataOutdated
from rota.service import Service
from rota.watch import outage, sender, watchdog
from rota.watch.channels import Channels
from rota.watch.heard import Heard
from rota.watch.others import Others
from rota.watch.outage import OutageNotifier
from rota.watch.outcomes import Noticer
from rota.watch.sender import Post, Sender
from rota.watch.watchdog import Watchdog
from rota.workers.events import FinishRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AsyncExitStack
    from uuid import UUID

    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database
    from rota.events import Bus
    from rota.runtime.opening import Opened

_NOTICE_INTERVAL = timedelta(seconds=1)


def start_watching(
    stack: AsyncExitStack,
    opened: Opened,
    config: Config,
    *,
    node_id: UUID,
    bus: Bus,
    clock: Clock,
) -> None:
    """Begin to notice; on a worker, to tell as well. Ended by the stack."""
    db = opened.db
    heard = hear(stack, db, node_id, bus=bus, clock=clock)
    services = [
        Service(
            "notice",
            _both(Noticer(db, bus), heard),
            wait=_NOTICE_INTERVAL,
            bus=bus,
            clock=clock,
        ),
        Service(
            "watchdog",
            Watchdog(db, bus, clock).run_once,
            wait=watchdog.INTERVAL,
            bus=bus,
            clock=clock,
        ),
    ]
    policy = target_policy(config, opened.prepared.operator)
    webhooks = Webhooks(db, opened.vault, policy=policy, clock=clock, report=reporter(bus))
    stack.push_async_callback(webhooks.close)
    others = Others() if uses_apprise(config) else None
    if others is not None:
        stack.callback(others.close)

    def sending(post: Post) -> Sender:
        only = None if config.apprise else opened.prepared.operator
        channels = Channels(opened.vault)
        return Sender(db, channels, post=post, say=others, say_for=only, bus=bus)

    if "worker" in config.roles:
        run_once = sending(webhooks).run_once
        services.append(Service("notify", run_once, wait=sender.INTERVAL, bus=bus, clock=clock))
    notifier = OutageNotifier(
        db,
        Channels(opened.vault),
        deliver=sending(webhooks.prepared).deliver,
        prepare=webhooks.prepare,
        on_told=lambda: heard.told("away"),
        node=f"{socket.gethostname()} ({node_id})",
        after=config.lease_ttl / 2,
        bus=bus,
        clock=clock,
    )
    services.append(
        Service("outage", notifier.run_once, wait=outage.INTERVAL, bus=bus, clock=clock)
    )
    for end in (
        bus.subscribe(DatabaseAway, lambda e: notifier.away(unanswered_for=e.unanswered_for)),
        bus.subscribe(DatabaseBack, lambda _: notifier.back()),
    ):
        stack.callback(end)
    for service in services:
        service.start()
        stack.push_async_callback(service.stop)


def uses_apprise(config: Config) -> bool:
    """Unless somebody says otherwise, only the embedded server, and there for the operator's tenant
    alone: it is their own machine. `apprise` turned on is their word for all tenants.

    Apprise calls services past the guard of targets, and some of its plugins read local files.
    """
    return config.dsn is None if config.apprise is None else config.apprise


def hear(stack: AsyncExitStack, db: Database, node_id: UUID, *, bus: Bus, clock: Clock) -> Heard:
    """What this process says about itself becomes alerts (MF7, F13, F2, F7, MO3)."""
    heard = Heard(db, node_id, bus)

    def behind(event: FallingBehind) -> None:
        heard.trouble("behind", f"{event.lag.total_seconds():.0f} s behind; live slots go first")

    def away(event: DatabaseAway) -> None:
        heard.trouble("away", f"from {clock.now().isoformat(timespec='seconds')}: {event.reason}")

    def double(event: FinishRefused) -> None:
        heard.trouble("double", f"firing {event.firing_id}, attempt {event.attempt}")

    def outdated(event: TzdataOutdated) -> None:
        heard.trouble(
            "outdated",
            f"it has tzdata {event.version} and fires {event.shards} shards that follow "
            f"{event.newer}: upgrade the package tzdata there",
        )

    for end in (
        bus.subscribe(TzdataOutdated, outdated),
        bus.subscribe(FallingBehind, behind),
        bus.subscribe(CaughtUp, lambda _: heard.over("behind")),
        bus.subscribe(DatabaseAway, away),
        bus.subscribe(DatabaseBack, lambda _: heard.over("away")),
        bus.subscribe(FinishRefused, double),
    ):
        stack.callback(end)
    return heard


def _both(noticer: Noticer, heard: Heard) -> Callable[[], Awaitable[None]]:
    async def run_once() -> None:
        await heard.run_once()
        await noticer.run_once()

    return run_once
