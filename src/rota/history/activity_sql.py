"""What a tenant's firings did, minute by minute."""

from __future__ import annotations

from typing import LiteralString

# By the index on (tenant, status, end): only the firings of these minutes are read.
MINUTES: LiteralString = """
    SELECT date_trunc('minute', f.finished_at) AS minute, f.status, count(*) AS count,
           percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (
               ORDER BY greatest(0, extract(epoch FROM f.started_at - f.due_at) * 1000)::float8
           ) FILTER (WHERE f.due_at IS NOT NULL AND NOT f.catch_up) AS late_ms
      FROM unnest($2::text[]) AS wanted(status)
     CROSS JOIN LATERAL (
           SELECT f.*
             FROM firings f
            WHERE f.tenant_id = $1 AND f.status = wanted.status
              AND f.finished_at >= $3 AND f.finished_at < $4) AS f
     GROUP BY 1, 2
"""
