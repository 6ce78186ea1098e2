"""What is said, and to whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from rota.watch import words
from rota.watch.alert import Alert
from rota.watch.outbox import Wanting, wants

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)
MINE, OTHER = UUID(int=1), UUID(int=2)
ALERT = Alert(
    id=UUID(int=7),
    tenant_id=MINE,
    kind="dead",
    subject="sch_x",
    schedule_id=UUID(int=9),
    schedule_name="report",
    schedule_key="report-key",
    tags=("billing",),
    detail="HTTP 503\nafter 3 attempts",
    count=3,
    told_count=0,
    told=0,
    told_at=None,
    opened_at=NOON,
    seen_at=NOON,
    closed_at=None,
)
STALLED = replace(
    ALERT, kind="stalled", tenant_id=None, schedule_id=None, schedule_name=None, tags=()
)


def _body(message: words.Message) -> dict[str, Any]:
    return msgspec.json.decode(message.content)


def test_an_alert_is_told_with_its_name_count_and_reason() -> None:
    message = words.opened(ALERT, now=NOON)
    assert message.title == "report: firings have failed for good (3)"
    body = _body(message)
    assert (body["type"], body["timestamp"]) == ("alert.opened", "2027-01-01T12:00:00Z")
    assert body["text"] == f"{message.title}\nHTTP 503 after 3 attempts"
    assert (body["data"]["count"], body["data"]["more"]) == (3, 3)
    assert words.plain(message.content) == body["text"]


def test_what_follows_says_how_many_more() -> None:
    message = words.opened(replace(ALERT, told=1, told_count=2), now=NOON)
    assert message.title.endswith("(1 more)")
    assert _body(message)["type"] == "alert.again"


def test_the_installation_speaks_in_its_own_name() -> None:
    assert words.opened(STALLED, now=NOON).title.startswith("Rota: shards stand still")
    assert words.closed(STALLED, now=NOON).title.startswith("Rota: recovered")


def test_no_text_breaks_out_of_its_line() -> None:
    hostile = replace(ALERT, schedule_name="a\r\nb\x00\u2028c" * 100)
    assert words.opened(hostile, now=NOON).title.isprintable()


@pytest.mark.parametrize(
    ("events", "tags", "tenant", "alert", "recovered", "heard"),
    [
        ({"dead"}, (), MINE, ALERT, False, True),
        ({"missed"}, (), MINE, ALERT, False, False),
        ({"dead"}, (), OTHER, ALERT, False, False),
        ({"dead"}, ("billing", "x"), MINE, ALERT, False, True),
        ({"dead"}, ("x",), MINE, ALERT, False, False),
        ({"dead"}, (), MINE, ALERT, True, False),
        ({"dead", "recovered"}, (), MINE, ALERT, True, True),
        ({"missed", "recovered"}, (), MINE, ALERT, True, False),
        ({"dead"}, (), MINE, STALLED, False, False),
        ({"installation"}, (), MINE, STALLED, False, True),
        ({"installation"}, ("billing",), MINE, STALLED, False, False),
    ],
)
def test_channels_hear_what_they_ask_for(  # noqa: PLR0917 - a table
    events: set[str],
    tags: tuple[str, ...],
    tenant: UUID,
    alert: Alert,
    recovered: bool,
    heard: bool,
) -> None:
    channel = Wanting(
        id=UUID(int=3), tenant_id=tenant, events=frozenset(events), tags=frozenset(tags)
    )
    assert wants(channel, alert, recovered=recovered) is heard
