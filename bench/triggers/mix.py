"""What the cron benchmarks ask: ten expressions, from one instant, in two zones."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "0 9 * * MON-FRI",
    "30 2 * * *",
    "0 0 1 * *",
    "0 0 29 2 *",
    "15 10 L * *",
    "0 12 * * FRI#2",
    "*/15 8-18 * * 1-5",
)
NEW_YORK = "America/New_York"
#: In no way round: a Tuesday, five days before the clocks go forward in New York.
AT = datetime(2026, 3, 3, 14, 7, 23, tzinfo=UTC)


def tzinfo_of(timezone: str) -> tzinfo:
    """What peers want of a zone. For UTC its own object, with which cronsim is fastest."""
    return UTC if timezone == "UTC" else ZoneInfo(timezone)
