"""What became of a schedule's slots, day by day, for a calendar of them.

A schedule that fires every second has 86,400 firings a day: counting a year of them takes minutes.
So one look reads a bounded number of firings, the newest days first, and says which days it did not
get to; heavy days that are over are remembered for a while, so that the next look gets further.
Days of few firings are counted each time: a backfill shows at once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import days_sql as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rota.db import Tx

MOST: Final = 100_000
"""Firings that one look counts; and of one day, however many it had. It can be twice as many, when
the last day that it comes to is such a day."""
HEAVY: Final = 500
"""A day of fewer firings than this is counted each time."""
_KEPT_FOR: Final = timedelta(hours=1)
_MOST_SCHEDULES: Final = 200


@dataclass(frozen=True, slots=True)
class Span:
    """A day, from its first instant up to, and without, the next day's."""

    at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Day:
    """How many slots of a day ended with which status."""

    at: datetime
    slots: Mapping[str, int] = field(default_factory=dict[str, int])
    rows: int = 0
    """How many firings that were to be counted."""

    @property
    def total(self) -> int:
        return sum(self.slots.values())

    @property
    def is_cut(self) -> bool:
        """Whether there were more than were counted."""
        return self.rows > MOST


@dataclass(slots=True)
class _Known:
    day: Day
    until: datetime
    """When it is to be counted again."""


class Days:
    """The days of any schedule; heavy ones remembered."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, dict[Span, _Known]] = OrderedDict()

    async def of_schedule(
        self,
        tx: Tx,
        schedule_id: UUID,
        spans: Sequence[Span],
        *,
        now: datetime,
        most: int | None = None,
    ) -> dict[datetime, Day]:
        """By their first instants, those of the days that were counted; the newest come first.

        `most` is a smaller bound, for who cannot wait: a day beyond it is left to the next look.
        """
        known = self._of(schedule_id, now)
        found = {span.at: known[span].day for span in spans if span in known}
        wanted = sorted((s for s in spans if s not in known), key=lambda s: s.at, reverse=True)
        left, take, light = most or MOST, 1, 0
        again: list[Span] = []
        # A day that was found to be heavy is read at once: every look gets further.
        while wanted and (left > 0 or (again and most is None)):
            batch, wanted = wanted[:take], wanted[take:]
            # Several days share what is left: one that has more than its share is read by itself.
            alone = take == 1 and most is None
            share = MOST if alone else left // take
            days = await _read(tx, schedule_id, batch, limit=share + 1)
            left -= sum(day.rows for day in days)
            again = []
            for span, day in zip(batch, days, strict=True):
                if not alone and day.rows > share:
                    again.append(span)
                    continue
                found[day.at] = day
                if day.rows >= HEAVY and span.until <= now:
                    known[span] = _Known(day, now + _KEPT_FOR)
            wanted = again + wanted
            # One by one while they are heavy; after two light ones, today among them, more at once.
            light = 0 if again or days[-1].rows > HEAVY else light + 1
            take = 8 ** max(light - 1, 0)
        return found

    def _of(self, schedule_id: UUID, now: datetime) -> dict[Span, _Known]:
        known = self._known.setdefault(schedule_id, {})
        self._known.move_to_end(schedule_id)
        while len(self._known) > _MOST_SCHEDULES:
            self._known.popitem(last=False)
        for span in [span for span, each in known.items() if each.until < now]:
            del known[span]
        return known


async def _read(tx: Tx, schedule_id: UUID, spans: Sequence[Span], *, limit: int) -> list[Day]:
    """The days, in the order given; of each no more firings than the limit."""
    first, last = [each.at for each in spans], [each.until for each in spans]
    slots: dict[datetime, dict[str, int]] = {}
    counts: dict[datetime, int] = {}
    for row in await tx.fetch(sql.DAYS, schedule_id, first, last, limit):
        slots.setdefault(row["at"], {})[row["status"]] = row["slots"]
        counts[row["at"]] = counts.get(row["at"], 0) + row["rows"]
    return [Day(at, slots.get(at, {}), counts.get(at, 0)) for at in first]
