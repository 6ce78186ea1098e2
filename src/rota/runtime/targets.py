"""Which targets this installation calls, by its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event
from rota.targets import TargetPolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from rota.config import Config
    from rota.events import Bus


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetNotCalled(Event):
    """A tenant's target was refused or not found; the tenant is not told which."""

    tenant_id: UUID
    host: str
    why: str


def target_policy(config: Config, operator: UUID) -> TargetPolicy:
    """The policy, for the operator's tenant and for all others.

    Unless the operator says otherwise, private targets are open on the embedded server, and there
    for the operator's tenant alone: it is their own machine, and what they want to call is on it.
    `allow_private_targets` and `allow_targets` are their word for all tenants.
    """
    private = config.allow_private_targets
    policy = TargetPolicy.of(
        allow_private=config.dsn is None if private is None else private,
        https_only=config.https_only,
        allow=config.allow_targets,
        deny=config.deny_targets,
        ports=config.target_ports,
    )
    return policy.for_others(operator, allow_private=bool(private))


def reporter(bus: Bus) -> Callable[[UUID, str, str], None]:
    """Says on the bus, and so in the operator's log, why a tenant's target is not called."""

    def report(tenant: UUID, host: str, why: str) -> None:
        bus.publish(TargetNotCalled(tenant_id=tenant, host=host, why=why))

    return report
