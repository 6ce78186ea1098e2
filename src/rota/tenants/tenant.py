"""A tenant, and who speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from rota.targets import celery

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.targets import CeleryTarget

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
"""What a key may do; each includes the ones before it."""

Via = Literal["api", "cli", "apply", "dashboard", "code"]
"""From where somebody asks: the HTTP API, `rota`, `rota apply`, a page, or a program's own code."""
PROGRAMS: frozenset[str] = frozenset(("api", "apply", "code"))
"""From where programs ask: not people, at a terminal or on a page."""

DEFAULT_NAME = "default"
MIN_INTERVAL = timedelta(seconds=60)
"""How often a schedule may fire, unless the operator says otherwise (TR16)."""

_SHOWN = 5
"""Patterns in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """Whom schedules belong to, and how much of the installation is theirs."""

    id: UUID
    name: str
    weight: int = 1
    """Its share of the workers, against the weights of others that have work."""
    max_concurrency: int | None = None
    create_rate: float | None = None
    """Schedules it may create in a second, on average."""
    request_rate: float | None = None
    """Requests it may make in a second, on average; None for what everybody may."""
    max_schedules: int | None = None
    capture_budget_mb: int | None = None
    """Megabytes of requests and responses kept in a day; None for what everybody has."""
    min_interval: timedelta = MIN_INTERVAL
    """No schedule of it may have slots closer than this."""
    celery_allow: tuple[str, ...] = ()
    """Which Celery tasks it may send, as TASK@QUEUE; of the operator's own tenant, all."""
    created_at: datetime

    @property
    def is_operators(self) -> bool:
        """Whether it is the tenant of those who run the installation."""
        return self.name == DEFAULT_NAME

    def wrong_with_celery(self, target: CeleryTarget) -> str | None:
        """Why it may not send this Celery task; None when it may."""
        if self.is_operators or any(celery.matches(each, target) for each in self.celery_allow):
            return None
        allowed = ", ".join(self.celery_allow[:_SHOWN]) or "none"
        more = ", …" if len(self.celery_allow) > _SHOWN else ""
        return (
            f"the tenant {self.name} may not send {target.task} to Celery's queue {target.queue}: "
            f"expected one of those the operator has allowed (celery_allow: {allowed}{more})"
        )


def actor(via: Via, who: str) -> str:
    """Who does something, and from where, as the audit trail has it."""
    return f"{via}:{who}"


def is_program(actor: str) -> bool:
    """Whether the actor is a program, and not somebody at a terminal or on a page."""
    return actor.partition(":")[0] in PROGRAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is asking: on behalf of which tenant, and with which rights."""

    tenant: Tenant
    scopes: frozenset[Scope]
    key_id: UUID | None
    """None for whoever signed in with a token of `rota serve`."""
    key_prefix: str | None = None
    """What the key is shown by."""
    via: Via = "api"

    @property
    def actor(self) -> str:
        """As the audit trail names it, such as `cli:PREFIX`."""
        return actor(self.via, self.key_prefix or "operator")

    @property
    def is_operator(self) -> bool:
        """Whether it speaks for the installation: an admin key of the default tenant."""
        return self.tenant.is_operators and self.may("admin")

    def may(self, scope: Scope) -> bool:
        """Whether the right is among its own; admin may write, and who may write may read."""
        return _suffices(self.scopes, scope)


@lru_cache(maxsize=64)
def _suffices(scopes: frozenset[Scope], scope: Scope) -> bool:
    wanted = SCOPES.index(scope)
    return any(SCOPES.index(own) >= wanted for own in scopes)
