"""What the server answers about channels and alerts."""

from datetime import datetime

from rota.sdk.client.results import Result


class Channel(Result, frozen=True, kw_only=True):
    """Where trouble is told, with as much of the URL as may be seen."""

    id: str
    name: str
    url: str
    created_at: datetime
    updated_at: datetime
    events: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    enabled: bool = True
    last_sent_at: datetime | None = None
    last_error: str | None = None


class Notification(Result, frozen=True, kw_only=True):
    """Something that was to be said on a channel: pending, sent or given_up."""

    id: str
    event: str
    status: str
    created_at: datetime
    title: str = ""
    attempts: int = 0
    error: str | None = None
    ended_at: datetime | None = None


class Alert(Result, frozen=True, kw_only=True):
    """One trouble, from when it was noticed until it was over."""

    id: str
    kind: str
    subject: str
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None = None
    schedule_id: str | None = None
    schedule_name: str | None = None
    detail: str = ""
    count: int = 1
    installation: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.closed_at is None
