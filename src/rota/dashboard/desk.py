"""What the pages need of the process they run in."""

from dataclasses import dataclass, field

from rota.clock import Clock
from rota.dashboard.feeds import Feeds
from rota.dashboard.forecasts import Forecasts
from rota.db import Database
from rota.events import Bus
from rota.history.days import Days
from rota.targets import TargetPolicy
from rota.tenants.authenticate import Authenticator
from rota.tenants.request_pace import RequestPace
from rota.tenants.secrets import Rings, Vault
from rota.tenants.tenant import Tenant
from rota.time_slicer import TimeSlicer


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The database, the clock and the bus; made once, shared by all requests."""

    db: Database
    clock: Clock
    bus: Bus
    shards: int
    """How many shards timers are spread over."""
    authenticator: Authenticator
    """Knows API keys: one may sign in with them."""
    pace: RequestPace | None = None
    """How many requests tenants may make, here and by the API together; None for any number."""
    feeds: Feeds
    """What happens, for pages that are open."""
    vault: Vault = field(default_factory=lambda: Vault(Rings(None)))
    targets: TargetPolicy = field(default_factory=TargetPolicy)
    """What schedules may call."""
    public_url: str | None = None
    """Where the API is reached, if the operator said so: ping URLs begin with it."""
    days: Days = field(default_factory=Days)
    """What became of schedules, day by day, remembered."""
    apprise: bool = False
    """Whether channels of the operator's tenant may use services other than webhooks."""
    apprise_for_all: bool = False
    """Whether those of every tenant may."""
    slicer: TimeSlicer = field(default_factory=TimeSlicer)
    """Computes for requests, a little at a time."""
    forecasts: Forecasts = field(default_factory=Forecasts)
    """The latest look ahead for each tenant."""

    def allows_apprise(self, tenant: Tenant) -> bool:
        """Whether the tenant's channels may use services other than webhooks."""
        return self.apprise_for_all or (self.apprise and tenant.is_operators)

    async def charge(self, tenant: Tenant, count: int) -> None:
        """Count a request as so many more; `TooManyRequests` when the tenant may not have them."""
        if self.pace is not None:
            await self.pace.spend_more(tenant, count)
