"""Operations on monitors."""

from __future__ import annotations

from rota.api.operations.operation import AWAY, KEY, LARGE, ONCE, STATE, UNKNOWN, WRONG, Operation

_NO_TOKEN = (404, "Not the ping URL of a monitor")

MONITORS = (
    Operation(
        name="ping_schedule",
        headers=ONCE,
        method="post",
        path="/v1/schedules/{schedule_id}/ping",
        summary="Say that a monitor's work is done, or has failed.",
        scope="write",
        body="PingFields",
        optional_body=True,
        answer="Pinged",
        problems=(*KEY, UNKNOWN, STATE, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="ping",
        method="get",
        path="/ping/{token}",
        summary="Ping by the monitor's own URL: its work is done.",
        answer="Heard",
        problems=(_NO_TOKEN, AWAY),
    ),
    Operation(
        name="post_ping",
        method="post",
        path="/ping/{token}",
        summary="Ping by the monitor's own URL: its work is done, or has failed.",
        body="PingFields",
        optional_body=True,
        answer="Heard",
        problems=(_NO_TOKEN, *LARGE, WRONG, AWAY),
    ),
)
