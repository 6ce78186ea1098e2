"""What the watchers say about their work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOpened(Event):
    """A trouble was noticed that was not known."""

    alert_id: UUID
    tenant_id: UUID | None
    """None for one of the whole installation."""
    kind: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationAlerted(AlertOpened):
    """The same, of the whole installation: for the operator's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertClosed(Event):
    """A trouble is over."""

    alert_id: UUID
    tenant_id: UUID | None
    kind: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationRecovered(AlertClosed):
    """The same, of the whole installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSent(Event):
    """A channel has been told."""

    notification_id: UUID
    channel_id: UUID
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationFailed(Event):
    """A channel could not be told; it is tried again unless it is given up."""

    notification_id: UUID
    channel_id: UUID
    attempt: int
    given_up: bool
    error: str
