"""From what `Rota(…)` is told to the settings in force."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from rota import config as configuration
from rota.config import Config
from rota.config.kinds import ROLES
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

USUAL_ROLES: Final = ("scheduler", "worker")
"""What a program does that says nothing else: an API is for `rota serve`, or `api=True`."""

AllTenants = Literal["all"]
MAX_TENANTS: Final = 100
"""Named by one program: each costs a claim one look into the queue for each lane."""

_FLAG = re.compile(r"\(flag --([\w-]+)\)")


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a program said of its configuration."""

    config: Config | str | Path | None = None
    """Settings that were made elsewhere, or the path of a `rota.toml`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By the names of the settings; a DSN among them."""
    roles: tuple[str, ...] | None = None

    def read(self, more: Mapping[str, Any]) -> Config:
        """The settings in force: `more` and the program's own before `ROTA_*`, before the file.

        Read when the program starts and not when it is imported: tests and tools import it, too.
        """
        given = {**self.settings, **more}
        try:
            if isinstance(self.config, Config):
                configuration.load(given, {})
                return self._with_roles(replace(self.config, **more))
            file = None if self.config is None else Path(self.config)
            return self._with_roles(configuration.read(given, file=file))
        except InvalidConfig as error:
            raise _in_python(error) from error

    def check(self) -> None:
        """Refuse at once what cannot be: a misspelt name, a DSN that is none."""
        if isinstance(self.config, Config) and self.settings:
            names = ", ".join(self.settings)
            wrong = f"config: expected it alone, got {names} beside it: put them into the config"
            raise InvalidConfig((wrong,))
        try:
            configuration.load(dict(self.settings), {})
        except InvalidConfig as error:
            raise _in_python(error) from error

    def _with_roles(self, config: Config) -> Config:
        if self.roles is not None:
            return replace(config, roles=self.roles)
        said = config.sources.get("roles", "default") != "default"
        return config if said else replace(config, roles=USUAL_ROLES)


def read_roles(given: Iterable[str] | str | None) -> tuple[str, ...] | None:
    """The roles in their usual order; none at all is for a program that only enqueues."""
    if given is None:
        return None
    words = given.split(",") if isinstance(given, str) else list(given)
    roles = tuple(role for role in ROLES if role in words)
    strange = sorted(set(words) - {*ROLES, ""})
    if strange:
        wrong = f"roles: expected some of {', '.join(ROLES)}, or none, got {', '.join(strange)}"
        raise InvalidConfig((wrong,))
    return roles


def read_queues(given: Iterable[str] | str | None) -> tuple[str, ...] | None:
    """The queues by name, each once."""
    if given is None:
        return None
    names = given.split(",") if isinstance(given, str) else list(given)
    queues = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not queues:
        raise InvalidConfig(("queues: expected the names of queues, got none: leave it out",))
    return queues


def read_tenants(given: Iterable[str] | str | None) -> tuple[str, ...] | AllTenants | None:
    """The tenants by name, each once; "all" for every tenant there is or will be."""
    if given is None:
        return None
    if given == "all":
        return "all"
    names = given.split(",") if isinstance(given, str) else list(given)
    tenants = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not tenants or "all" in tenants:
        got = "none: leave it out" if not tenants else "`all` next to names: say it alone"
        raise InvalidConfig((f'tenants: expected the names of tenants, or "all", got {got}',))
    if len(tenants) > MAX_TENANTS:
        wrong = f'tenants: expected up to {MAX_TENANTS} names, got {len(tenants)}: say "all"'
        raise InvalidConfig((wrong,))
    return tenants


def _in_python(error: InvalidConfig) -> InvalidConfig:
    """The same, for somebody who wrote an argument and no flag."""
    return InvalidConfig(
        tuple(
            _FLAG.sub(lambda found: f"(argument {found[1].replace('-', '_')})", problem)
            for problem in error.problems
        )
    )
