"""What a `Rota` has while it runs in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from rota.clock import Clock
    from rota.db import Database, Listener
    from rota.events import Bus
    from rota.tenants.tenant import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A started `Rota`: how to reach its database, and from which loop."""

    db: Database
    """A pool for what the program asks; the engine has its own connections beside it or in it."""
    dsn: str = field(repr=False)
    tenant: Tenant
    """Whose schedules and tasks these are, without the limits that are for strangers."""
    shards: int
    news: Listener | None
    """What the database announces; None in a process that only enqueues."""
    loop: asyncio.AbstractEventLoop
    """The loop that all of this lives on: code of another thread must ask it there."""
    bus: Bus
    clock: Clock
    pid: int
    """The process that started it: after a fork the child has none of this."""
