"""Which targets this installation calls, by its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.targets import TargetPolicy

if TYPE_CHECKING:
    from rota.config import Config


def target_policy(config: Config) -> TargetPolicy:
    """The policy. Private targets are open where nobody closed them and the server is embedded:
    then it is one person's own machine, and what they want to call is on it.
    """
    private = config.allow_private_targets
    return TargetPolicy.of(
        allow_private=config.dsn is None if private is None else private,
        https_only=config.https_only,
        allow=config.allow_targets,
        deny=config.deny_targets,
        ports=config.target_ports,
    )
