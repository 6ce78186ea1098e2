"""What the server answers about tenants, keys, secrets and itself; no repr shows what is secret."""

from datetime import datetime

from rota.sdk.client.results import Circuit, Result


class Tenant(Result, frozen=True, kw_only=True):
    """A tenant, and how much of the installation is its."""

    id: str
    name: str
    created_at: datetime
    weight: int = 1
    max_concurrency: int | None = None
    create_rate: float | None = None
    request_rate: float | None = None
    max_schedules: int | None = None
    capture_budget_mb: int | None = None
    min_interval: str | None = None
    celery_allow: tuple[str, ...] = ()


class Key(Result, frozen=True, kw_only=True):
    """What may be shown of a key."""

    id: str
    tenant: str
    prefix: str
    created_at: datetime
    name: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was made just now, with its text: shown once."""

    key: str

    def __repr__(self) -> str:
        return f"NewKey(id={self.id!r}, prefix={self.prefix!r}, key=…)"


class SignInLink(Result, frozen=True, kw_only=True):
    """A link to the dashboard that works once."""

    path: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"SignInLink(expires_at={self.expires_at!r}, path=…)"


class Secret(Result, frozen=True, kw_only=True):
    """What may be shown of a secret: all but its value."""

    name: str
    version: int
    created_at: datetime
    updated_at: datetime


class RetiringSecret(Result, frozen=True, kw_only=True):
    """A version of the signing secret that signs next to the newest until it retires."""

    version: int
    retired_at: datetime


class SigningSecret(Result, frozen=True, kw_only=True):
    """The key of a host, which version it is of, and the versions that still sign next to it."""

    host: str | None = None
    secret: str | None = None
    """The host's key (`whsec_…`) for its receiver; None when no host was named."""
    version: int
    created_at: datetime
    shared: bool = False
    """Whether all hosts have this same key still: rotate it, and each gets its own."""
    retiring: tuple[RetiringSecret, ...] = ()

    def __repr__(self) -> str:
        return f"SigningSecret(version={self.version}, secret=…)"


class Stats(Result, frozen=True, kw_only=True):
    """A tenant's figures. Counting stops at `bound`: a count of `bound` means as many or more."""

    now: datetime
    bound: int
    schedules: dict[str, int]
    queue: dict[str, int]
    firings_last_hour: dict[str, int]
    lateness_seconds: float = 0.0
    next_due_at: datetime | None = None


class ClusterNode(Result, frozen=True, kw_only=True):
    """A process of the last day that did not stop in order, or still runs."""

    id: str
    alive: bool
    seen_at: datetime
    started_at: datetime | None = None
    roles: tuple[str, ...] = ()
    host: str = ""
    pid: int = 0
    version: str = ""


class ClusterShard(Result, frozen=True, kw_only=True):
    """A part of the timers, and who may fire it."""

    shard: int
    held: bool
    holder: str | None = None
    fence: int = 0
    leased_until: datetime | None = None
    lag_seconds: float = 0.0


class Cluster(Result, frozen=True, kw_only=True):
    """Nodes, shards with their leases and lag, and hosts that fail."""

    now: datetime
    nodes: tuple[ClusterNode, ...] = ()
    shards: tuple[ClusterShard, ...] = ()
    circuits: tuple[Circuit, ...] = ()
