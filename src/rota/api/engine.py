"""What handlers need of the process they run in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.api.polls import Polls
from rota.targets import TargetPolicy
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus


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
    polls: Polls = field(default_factory=Polls)
    """Those who wait for work."""
