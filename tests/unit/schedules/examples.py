"""Fields of schedules for tests, and how to read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule

NOW = datetime(2027, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

MORNING: dict[str, Any] = {
    "cron_expr": "0 9 * * MON-FRI",
    "timezone": "America/New_York",
    "name": "morning-report",
    "target_url": "https://acme.example/webhooks/morning-report",
    "payload": {"team": "ops"},
    "idempotency_key": "morning-report-ops",
}
TASK: dict[str, Any] = {"name": "resize", "interval": "5m", "job_type": "images.resize"}


def read(given: dict[str, Any] | None = None, **more: Any) -> fields.Parsed:
    return fields.read({**(TASK if given is None else given), **more}, now=NOW, min_interval=MINUTE)


def problems(given: dict[str, Any] | None = None, **more: Any) -> dict[str, str]:
    """What is wrong, by field."""
    try:
        read(given, **more)
    except InvalidSchedule as error:
        return dict(error.problems)
    return {}
