"""The pace of hosts: at which instants requests may be sent, over all workers together (HX6, S18).

A place is an instant at which one request may start. Places of a host are an interval apart, so
that no host ever sees more than its rate, and never more than one at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.queue import hosts_sql as sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rota.db import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What one host has given: `count` places from `first_at` on, an interval apart.

    Whoever got none may ask again from `back_at` on, an interval apart as well.
    """

    count: int
    first_at: datetime
    back_at: datetime

    def instants(self, wanted: int, interval: timedelta) -> list[tuple[datetime, bool]]:
        """For each that is wanted its instant, and whether that is a place."""
        places = [(self.first_at + n * interval, True) for n in range(self.count)]
        later = [(self.back_at + n * interval, False) for n in range(wanted - self.count)]
        return places + later


async def reserve(
    tx: Tx, wanted: Mapping[str, int], *, interval: timedelta, horizon: timedelta
) -> dict[str, Places]:
    """Places for so many requests to each of these hosts, none further ahead than `horizon`."""
    found = await _reserve(tx, wanted, interval, horizon)
    new = {host: count for host, count in wanted.items() if host not in found}
    if new:
        await tx.execute(sql.ENSURE_PACES, list(new))
        found |= await _reserve(tx, new, interval, horizon)
    return found


async def _reserve(
    tx: Tx, wanted: Mapping[str, int], interval: timedelta, horizon: timedelta
) -> dict[str, Places]:
    counts = list(wanted.values())
    rows = await tx.fetch(sql.RESERVE, list(wanted), counts, interval, horizon)
    return {
        row["host"]: Places(count=row["places"], first_at=row["first_at"], back_at=row["back_at"])
        for row in rows
    }
