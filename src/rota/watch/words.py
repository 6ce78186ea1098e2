"""What is said about a trouble: a title for people, and the body of a webhook. Pure.

Only names and sentences that the tenant's own API shows as well go out; never a payload, a header,
a response or a URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from rota import ids
from rota.watch.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.watch.alert import Alert

_MOST = 500
_FEW = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing to say."""

    title: str
    content: str
    """JSON, the body of a webhook: `type`, `timestamp`, `text` and `data`."""


def opened(alert: Alert, *, now: datetime) -> Message:
    """There is trouble, or there is more of it."""
    more = alert.count - alert.told_count
    again = alert.told > 0
    title = f"{_named(alert)}: {alert.means}"
    if again or more > 1:
        title += f" ({more} more)" if again else f" ({more})"
    kind = "alert.again" if again else "alert.opened"
    return _message(kind, title, alert.detail, {**_facts(alert), "more": more}, now=now)


def closed(alert: Alert, *, now: datetime) -> Message:
    """The trouble is over."""
    title = f"{_named(alert)}: recovered ({alert.means})"
    return _message("alert.closed", title, alert.detail, _facts(alert), now=now)


def away(node: str, *, since: datetime, now: datetime) -> Message:
    """A node cannot reach the database; said by itself, while nothing can be recorded."""
    title = f"Rota: {node} cannot reach the database"
    detail = f"No answer since {_instant(since)}. Nothing is fired until it is back."
    data = {"kind": "away", "subject": node, "detail": detail, "opened_at": _instant(since)}
    return _message("alert.opened", title, detail, data, now=now)


def together(alerts: Sequence[Alert], *, recovered: bool, now: datetime) -> Message:
    """Many troubles of one kind at the same time, as one thing to say."""
    said = {each.means for each in alerts}
    means = said.pop() if len(said) == 1 else KINDS[alerts[0].kind].means
    names = ", ".join(_named(each) for each in alerts[:5])
    title = f"{len(alerts)} schedules: {'recovered (' + means + ')' if recovered else means}"
    data = {
        "kind": alerts[0].kind,
        "alerts": [_facts(each) for each in alerts[:_FEW]],
        "count": len(alerts),
    }
    kind = "alerts.closed" if recovered else "alerts.opened"
    return _message(kind, title, f"Among them {names}", data, now=now)


def succeeded(
    *, firing_id: UUID, schedule_id: UUID, schedule_name: str, ended_at: datetime
) -> Message:
    """A firing went well, for those who asked to hear of it."""
    data = {
        "firing_id": ids.to_text(ids.Kind.FIRING, firing_id),
        "schedule_id": ids.to_text(ids.Kind.SCHEDULE, schedule_id),
        "schedule_name": schedule_name,
        "finished_at": _instant(ended_at),
    }
    return _message("firing.succeeded", f"{schedule_name}: succeeded", "", data, now=ended_at)


def test(channel_name: str, *, now: datetime) -> Message:
    """Somebody wants to see whether the channel works."""
    title = f"A test of the channel {channel_name}"
    return _message("channel.test", title, "If you can read this, it works.", {}, now=now)


def plain(content: str) -> str:
    """What a message says below its title, for services that take text."""
    return str(msgspec.json.decode(content)["text"])


def _message(
    kind: str, title: str, detail: str, data: Mapping[str, Any], *, now: datetime
) -> Message:
    title = _line(title)
    text = f"{title}\n{_line(detail)}" if detail else title
    body = {"type": kind, "timestamp": _instant(now), "text": text, "data": data}
    return Message(title=title, content=msgspec.json.encode(body).decode())


def _facts(alert: Alert) -> dict[str, Any]:
    id_ = alert.schedule_id
    return {
        "alert_id": ids.to_text(ids.Kind.ALERT, alert.id),
        "kind": alert.kind,
        "subject": alert.subject,
        "schedule_id": None if id_ is None else ids.to_text(ids.Kind.SCHEDULE, id_),
        "schedule_name": alert.schedule_name,
        "schedule_key": alert.schedule_key,
        "detail": _line(alert.detail),
        "count": alert.count,
        "opened_at": _instant(alert.opened_at),
        "closed_at": None if alert.closed_at is None else _instant(alert.closed_at),
    }


def _named(alert: Alert) -> str:
    return "Rota" if KINDS[alert.kind].is_installation else alert.name


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_MOST]


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
