"""The statements that read all of a tenant's firings in the order in which they ended."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.history.sql import ENDED, LIVE

# Live ones have no end yet and come first, the newest first.
OF_TENANT_LIVE: LiteralString = (
    "SELECT * FROM ("
    + LIVE
    + """
         WHERE q.tenant_id = $1
           AND ($3::uuid IS NULL OR q.id < $3)
           AND ($4::uuid IS NULL OR q.schedule_id = $4)) AS live
     WHERE live.status = ANY ($2::text[])
     ORDER BY live.id DESC
     LIMIT $5
"""
)

# Status by status, so that each is a walk along `firings_of_tenant` that stops at the limit.
OF_TENANT_ENDED: LiteralString = (
    """
    SELECT found.*
      FROM unnest($2::text[]) AS wanted (status)
     CROSS JOIN LATERAL (
"""
    + ENDED
    + """
            WHERE f.tenant_id = $1 AND f.status = wanted.status
              AND f.finished_at >= $6
              AND f.finished_at <= $3
              AND (f.finished_at, f.id) < ($3, $4::uuid)
              AND ($5::uuid IS NULL OR f.schedule_id = $5)
            ORDER BY f.finished_at DESC, f.id DESC
            LIMIT $7) AS found
     ORDER BY found.finished_at DESC, found.id DESC
     LIMIT $7
"""
)
