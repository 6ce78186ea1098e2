"""`/v1/channels` and `/v1/alerts`."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from rota.sdk.client.call import (
    Call,
    Listing,
    at,
    delete,
    get,
    given,
    listing,
    patch,
    post_once,
    some,
)
from rota.sdk.client.results import Page
from rota.sdk.client.results_watching import Alert, Channel, Notification

_ALL = "/v1/channels"
_ONE = "/v1/channels/{}"


class ChannelFields(TypedDict, total=False):
    """What a channel is made of. None takes a field back to its default."""

    name: str
    url: str
    events: list[str] | None
    tags: list[str] | None
    enabled: bool | None


def create_channel(
    name: str,
    url: str,
    *,
    events: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    enabled: bool | None = None,
    request_key: str | None = None,
) -> Call[Channel]:
    """Make a channel: an https:// webhook, or a URL of apprise where the server allows it.

    It hears of what is dead, missed or overdue, and of recovery, unless `events` says otherwise.
    """
    body = some(
        name=name,
        url=url,
        events=None if events is None else list(events),
        tags=None if tags is None else list(tags),
        enabled=enabled,
    )
    return post_once(Channel, _ALL, request_key, body)


def list_channels(*, page_size: int | None = None) -> Listing[Channel]:
    """The channels by name; their URLs redacted."""
    return listing(Page[Channel], _ALL, page_size)


def get_channel(channel: str | Channel) -> Call[Channel]:
    """One channel."""
    return get(Channel, at(_ONE, _id(channel)))


def update_channel(
    channel: str | Channel,
    fields: Mapping[str, Any] | None = None,
    /,
    **more: Unpack[ChannelFields],
) -> Call[Channel]:
    """Change the fields given; None takes one back to its default."""
    return patch(Channel, at(_ONE, _id(channel)), given(fields, more))


def delete_channel(channel: str | Channel) -> Call[None]:
    """Delete a channel, with what had still to be said on it."""
    return delete(at(_ONE, _id(channel)))


def test_channel(
    channel: str | Channel,
    *,
    request_key: str | None = None,  # noqa: PT028 - a method of clients, not a test
) -> Call[Notification]:
    """Say something on a channel; `list_notifications` tells what became of it."""
    return post_once(Notification, at(f"{_ONE}/test", _id(channel)), request_key)


def list_notifications(
    channel: str | Channel, *, page_size: int | None = None
) -> Listing[Notification]:
    """What was to be said on a channel within the last week, the newest first."""
    path = at(f"{_ONE}/notifications", _id(channel))
    return listing(Page[Notification], path, page_size)


def list_alerts(
    *, is_open: bool | None = None, kind: str | None = None, page_size: int | None = None
) -> Listing[Alert]:
    """Alerts, the newest first: only those that go on, only those that are over, or all."""
    return listing(Page[Alert], "/v1/alerts", page_size, open=is_open, kind=kind)


def _id(channel: str | Channel) -> str:
    return channel.id if isinstance(channel, Channel) else channel
