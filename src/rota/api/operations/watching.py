"""Operations on channels and alerts."""

from __future__ import annotations

from rota.api.operations.operation import AWAY, KEY, LARGE, ONCE, UNKNOWN, WRONG, Operation, read
from rota.watch.kinds import KINDS

_NO_RING = (503, "The database is away, or there is no key ring; the sentence says which")

WATCHING = (
    Operation(
        name="create_channel",
        method="post",
        path="/v1/channels",
        summary="Make a channel: where to tell of trouble.",
        scope="write",
        headers=ONCE,
        body="ChannelFields",
        answer="Channel",
        status=201,
        problems=(*KEY, *LARGE, WRONG, _NO_RING),
    ),
    read(
        "list_channels",
        "/v1/channels",
        "List the channels by name.",
        "ChannelPage",
        *("limit", "cursor"),
    ),
    read("get_channel", "/v1/channels/{channel_id}", "One channel.", "Channel"),
    Operation(
        name="update_channel",
        method="patch",
        path="/v1/channels/{channel_id}",
        summary="Change the fields given; null takes one back to its default.",
        scope="write",
        body="ChannelChanges",
        answer="Channel",
        problems=(*KEY, UNKNOWN, *LARGE, WRONG, _NO_RING),
    ),
    Operation(
        name="delete_channel",
        method="delete",
        path="/v1/channels/{channel_id}",
        summary="Delete a channel, with what had still to be said on it.",
        scope="write",
        status=204,
        problems=(*KEY, UNKNOWN, WRONG, AWAY),
    ),
    Operation(
        name="test_channel",
        method="post",
        path="/v1/channels/{channel_id}/test",
        summary="Say something on a channel, to see whether it works.",
        scope="write",
        headers=ONCE,
        answer="Notification",
        status=202,
        problems=(*KEY, UNKNOWN, WRONG, AWAY),
    ),
    read(
        "list_notifications",
        "/v1/channels/{channel_id}/notifications",
        "What was to be said on a channel within the last week, the newest first.",
        "NotificationPage",
        *("limit", "cursor"),
    ),
    read(
        "list_alerts",
        "/v1/alerts",
        "List alerts, the newest first: one for each trouble, from its beginning to its end.",
        "AlertPage",
        *("open", "kind", "limit", "cursor"),
        choices={"kind": tuple(KINDS)},
    ),
)
