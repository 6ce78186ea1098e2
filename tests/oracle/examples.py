"""The rules' own examples: what must fire around a change of the clock.

Each row is an expression, a zone, the local window to look at, and every firing in it. The oracle
and the evaluator are held to the same table. Times are local with their offset.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Example(NamedTuple):
    expression: str
    zone: str
    start: str
    end: str
    fires: tuple[str, ...]

    @property
    def window(self) -> tuple[datetime, datetime]:
        """The first instant that may fire, and the first that may not."""
        return datetime.fromisoformat(self.start), datetime.fromisoformat(self.end)

    @property
    def instants(self) -> list[datetime]:
        return [datetime.fromisoformat(text) for text in self.fires]


NEW_YORK, LORD_HOWE, ST_JOHNS = "America/New_York", "Australia/Lord_Howe", "America/St_Johns"

EXAMPLES = (
    # The gap in New York, 2025-03-09: 02:00 becomes 03:00.
    Example(
        "30 2 * * *",
        NEW_YORK,
        "2025-03-09T00:00-05:00",
        "2025-03-11T00:00-04:00",
        ("2025-03-09T03:00-04:00", "2025-03-10T02:30-04:00"),
    ),
    Example(
        "0,30 2 * * *",
        NEW_YORK,
        "2025-03-09T00:00-05:00",
        "2025-03-10T00:00-04:00",
        ("2025-03-09T03:00-04:00",),
    ),
    Example(
        "*/15 2 * * *",
        NEW_YORK,
        "2025-03-09T00:00-05:00",
        "2025-03-10T00:00-04:00",
        (),
    ),
    Example(
        "0 * * * *",
        NEW_YORK,
        "2025-03-09T01:00-05:00",
        "2025-03-09T04:00-04:00",
        ("2025-03-09T01:00-05:00", "2025-03-09T03:00-04:00"),
    ),
    # The overlap in New York, 2025-11-02: 02:00 becomes 01:00.
    Example(
        "30 1 * * *",
        NEW_YORK,
        "2025-11-02T00:00-04:00",
        "2025-11-03T00:00-05:00",
        ("2025-11-02T01:30-04:00",),
    ),
    Example(
        "30 1 * * *",
        NEW_YORK,
        "2025-11-02T01:10-05:00",
        "2025-11-04T00:00-05:00",
        ("2025-11-03T01:30-05:00",),
    ),
    Example(
        "*/30 * * * *",
        NEW_YORK,
        "2025-11-02T01:00-04:00",
        "2025-11-02T02:30-05:00",
        (
            "2025-11-02T01:00-04:00",
            "2025-11-02T01:30-04:00",
            "2025-11-02T01:00-05:00",
            "2025-11-02T01:30-05:00",
            "2025-11-02T02:00-05:00",
        ),
    ),
    Example(
        "0 1-3 * * *",
        NEW_YORK,
        "2025-11-02T00:00-04:00",
        "2025-11-03T00:00-05:00",
        ("2025-11-02T01:00-04:00", "2025-11-02T02:00-05:00", "2025-11-02T03:00-05:00"),
    ),
    Example(
        "0 */3 * * *",
        "Europe/Riga",
        "2021-10-31T01:00+03:00",
        "2021-10-31T06:00+02:00",
        ("2021-10-31T03:00+03:00", "2021-10-31T03:00+02:00"),
    ),
    # Half an hour in Lord Howe.
    Example(
        "0 2 * * *",
        LORD_HOWE,
        "2025-10-05T00:00+10:30",
        "2025-10-06T00:00+11:00",
        ("2025-10-05T02:30+11:00",),
    ),
    Example(
        "30 * * * *",
        LORD_HOWE,
        "2025-04-06T01:00+11:00",
        "2025-04-06T03:00+10:30",
        ("2025-04-06T01:30+11:00", "2025-04-06T01:30+10:30", "2025-04-06T02:30+10:30"),
    ),
    Example(
        "45 1,2 * * *",
        LORD_HOWE,
        "2025-04-06T00:00+11:00",
        "2025-04-07T00:00+10:30",
        ("2025-04-06T01:45+11:00", "2025-04-06T02:45+10:30"),
    ),
    # Midnights that do not exist.
    Example(
        "0 0 * * *",
        "America/Santiago",
        "2025-09-06T12:00-04:00",
        "2025-09-09T00:00-03:00",
        ("2025-09-07T01:00-03:00", "2025-09-08T00:00-03:00"),
    ),
    Example(
        "0 0 * * *",
        "Asia/Beirut",
        "2025-03-29T12:00+02:00",
        "2025-03-30T12:00+03:00",
        ("2025-03-30T01:00+03:00",),
    ),
    Example(
        "0 0 * * *",
        "America/Sao_Paulo",
        "2018-11-03T12:00-03:00",
        "2018-11-04T12:00-02:00",
        ("2018-11-04T01:00-02:00",),
    ),
    Example(
        "0 0 * * *",
        "Africa/Cairo",
        "2025-04-24T12:00+02:00",
        "2025-04-25T12:00+03:00",
        ("2025-04-25T01:00+03:00",),
    ),
    # A day that did not exist, two hours at once, and changes off the hour.
    Example(
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29T00:00-10:00",
        "2012-01-01T00:00+14:00",
        ("2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00"),
    ),
    Example(
        "30 1 * * *",
        "Antarctica/Troll",
        "2025-03-30T00:00+00:00",
        "2025-03-31T00:00+02:00",
        ("2025-03-30T03:00+02:00",),
    ),
    Example(
        "0 * * * *",
        "Asia/Pyongyang",
        "2018-05-04T22:30+08:30",
        "2018-05-05T01:00+09:00",
        ("2018-05-04T23:00+08:30", "2018-05-05T00:00+09:00"),
    ),
    Example(
        "0 */2 * * *",
        ST_JOHNS,
        "2009-10-31T21:00-02:30",
        "2009-11-01T03:00-03:30",
        (
            "2009-10-31T22:00-02:30",
            "2009-11-01T00:00-02:30",
            "2009-11-01T00:00-03:30",
            "2009-11-01T02:00-03:30",
        ),
    ),
)
