"""Rate limits of hosts: the instants at which requests may start, over all workers together.

A place is an instant at which one request may start. Places of a host are an interval apart, so
that no host ever sees more than its rate, and never more than one at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

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


_ENSURE: LiteralString = """
    INSERT INTO host_pace (host, next_at, tail_at)
    SELECT host, now(), now() FROM unnest($1::text[]) AS x(host) ORDER BY host
        ON CONFLICT DO NOTHING
"""

# The n-th of a host starts n intervals after the first, and the first when the host is free. Those
# beyond the horizon get no place, only a time to come back, each an interval after the other:
# a place so far ahead would be lost when its claim is, and the host would stand idle.
_RESERVE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT * FROM unnest($1::text[], $2::integer[]) AS x(host, wanted) ORDER BY host
    ), held AS MATERIALIZED (
        SELECT x.host, x.wanted, greatest(h.next_at, t.now) AS next_at,
               greatest(h.tail_at, t.now + $4::interval) AS tail_at,
               t.now + $4::interval AS horizon
          FROM x
         CROSS JOIN LATERAL (
               SELECT p.next_at, p.tail_at
                 FROM host_pace p
                WHERE p.host = x.host
                  FOR UPDATE) AS h
         -- After the lock: what was waited for is over.
         CROSS JOIN LATERAL (SELECT clock_timestamp() AS now WHERE h.next_at IS NOT NULL) AS t
    ), given AS MATERIALIZED (
        SELECT held.*,
               least(wanted, greatest(0, 1 + floor(
                   extract(epoch FROM horizon - next_at) / extract(epoch FROM $3::interval)
               ))::integer) AS places
          FROM held
    ), changed AS (
        UPDATE host_pace p
           SET next_at = g.next_at + g.places * $3::interval,
               tail_at = g.tail_at + (g.wanted - g.places) * $3::interval
          FROM given g
         WHERE p.host = g.host
    )
    SELECT host, places, next_at AS first_at, tail_at AS back_at FROM given
"""


async def reserve(
    tx: Tx, wanted: Mapping[str, int], *, interval: timedelta, horizon: timedelta
) -> dict[str, Places]:
    """Places for so many requests to each of these hosts, none further ahead than `horizon`."""
    found = await _reserve(tx, wanted, interval, horizon)
    new = {host: count for host, count in wanted.items() if host not in found}
    if new:
        await tx.execute(_ENSURE, list(new))
        found |= await _reserve(tx, new, interval, horizon)
    return found


async def _reserve(
    tx: Tx, wanted: Mapping[str, int], interval: timedelta, horizon: timedelta
) -> dict[str, Places]:
    counts = list(wanted.values())
    rows = await tx.fetch(_RESERVE, list(wanted), counts, interval, horizon)
    return {
        row["host"]: Places(count=row["places"], first_at=row["first_at"], back_at=row["back_at"])
        for row in rows
    }
