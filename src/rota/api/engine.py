"""What handlers need of the process they run in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.api.polls import Polls
from rota.schedules.create_batcher import CreateBatcher
from rota.targets import TargetPolicy
from rota.tenants.request_pace import ITEMS
from rota.tenants.secrets import Rings, Vault
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus
    from rota.tenants.request_pace import RequestPace
    from rota.tenants.tenant import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The database, the clock and the bus; made once, shared by all requests."""

    db: Database
    clock: Clock
    bus: Bus
    shards: int
    """How many shards timers are spread over."""
    vault: Vault = field(default_factory=lambda: Vault(Rings(None)))
    """Where secrets are; by default without a key ring, and so off."""
    targets: TargetPolicy = field(default_factory=TargetPolicy)
    """What schedules may call; by default the public internet."""
    is_stopping: Callable[[], bool] = lambda: False
    """Whether the process is on its way out: it answers, but should get no new requests."""
    public_url: str | None = None
    """Where the API is reached from outside, without a slash at its end; for URLs it gives away."""
    polls: Polls = field(default_factory=Polls)
    """Those who wait for work."""
    pace: RequestPace | None = None
    """How many requests tenants may make; None for any number."""
    apprise: bool = False
    """Whether channels of the operator's tenant may use services other than webhooks."""
    apprise_for_all: bool = False
    """Whether those of every tenant may."""
    metrics: Callable[[], Awaitable[tuple[str, bytes]]] | None = None
    """Figures for Prometheus, with their media type; None when they are off."""
    slicer: TimeSlicer = field(default_factory=TimeSlicer)
    """Computes for requests, a little at a time."""
    creates: CreateBatcher = field(init=False)
    """Creates single schedules, those of concurrent requests in one transaction."""

    async def charge(self, tenant: Tenant, *, items: int) -> None:
        """Count a request for so many items by what it costs; `TooManyRequests` if too much."""
        if self.pace is not None:
            await self.pace.spend_more(tenant, (items - 1) // ITEMS)

    def allows_apprise(self, tenant: Tenant) -> bool:
        """Whether the tenant's channels may use services other than webhooks."""
        return self.apprise_for_all or (self.apprise and tenant.is_operators)

    def __post_init__(self) -> None:
        creates = CreateBatcher(self.db, shards=self.shards, targets=self.targets)
        object.__setattr__(self, "creates", creates)
