"""What became of a schedule's slots, day by day."""

from __future__ import annotations

from typing import LiteralString

# Each day a range of the schedule's own index, in the partitions of that day alone, and no
# more of it than the limit.
DAYS: LiteralString = """
    SELECT d.at, f.status, sum(f.slot_count)::bigint AS slots, count(*) AS rows
      FROM unnest($2::timestamptz[], $3::timestamptz[]) AS d(at, until)
     CROSS JOIN LATERAL (
           SELECT f.status, f.slot_count
             FROM firings f
            WHERE f.schedule_id = $1 AND f.scheduled_for >= d.at AND f.scheduled_for < d.until
            LIMIT $4) AS f
     GROUP BY 1, 2
"""

# The newest so many, by the schedule's own index; older than `since` does not count.
RECORD: LiteralString = """
    WITH latest AS MATERIALIZED (
        SELECT f.status, f.slot_count, f.started_at, f.finished_at, f.due_at, f.catch_up,
               f.scheduled_for
          FROM firings f
         WHERE f.schedule_id = $1 AND f.scheduled_for >= $2
         ORDER BY f.scheduled_for DESC
         LIMIT $3)
    SELECT count(*) AS firings, min(l.scheduled_for) AS oldest_at,
           count(*) FILTER (WHERE l.status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE l.status = 'dead') AS dead,
           coalesce(sum(l.slot_count) FILTER (WHERE l.status = 'missed'), 0)::bigint AS missed,
           coalesce(sum(l.slot_count) FILTER (WHERE l.status = 'skipped'), 0)::bigint AS skipped,
           count(*) FILTER (WHERE l.status = 'cancelled') AS cancelled,
           percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
               ORDER BY extract(epoch FROM l.finished_at - l.started_at) * 1000
           ) FILTER (WHERE l.started_at IS NOT NULL
                       AND l.status IN ('succeeded', 'dead')) AS took_ms,
           percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
               ORDER BY greatest(0, extract(epoch FROM l.started_at - l.due_at) * 1000)
           ) FILTER (WHERE l.due_at IS NOT NULL AND l.started_at IS NOT NULL
                       AND NOT l.catch_up) AS late_ms
      FROM latest l
"""
