"""Two tenants with a row of their own in every table of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString
from uuid import UUID, uuid4

if TYPE_CHECKING:
    from rota.db import Database, Tx

# By table: a row of the tenant $1; $2 is the schedule's id, $3 the data key's.
ROWS: dict[str, LiteralString] = {
    "tenants": "INSERT INTO tenants (id, name) VALUES ($1, $1::uuid::text || ($2::uuid IS NULL)"
    " || ($3::uuid IS NULL))",
    "schedules": "INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at,"
    " definition) SELECT $2, $1, 'k', 'n', 'active', 0, now(), '{}' WHERE $3::uuid IS NOT NULL",
    "timers": "INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)"
    " SELECT $2, 0, now(), now(), 1 WHERE $1::uuid IS NOT NULL AND $3::uuid IS NOT NULL",
    "queue": "INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,"
    " state, triggered_by, lane)"
    " VALUES ($3, $2, $1, 1, now(), now(), 'waiting', 'schedule', 'http')",
    "firings": "INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,"
    " triggered_by, finished_at) VALUES ($3, $2, $1, 1, now(), 'dead', 'schedule', now())",
    "attempts": "INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt,"
    " worker, started_at, finished_at, outcome)"
    " VALUES ($3, $1, $2, now(), 1, $3, now(), now(), '')",
    "answers": "INSERT INTO answers (tenant_id, key, fingerprint)"
    " SELECT $1, 'k', '' WHERE $2::uuid IS NOT NULL AND $3::uuid IS NOT NULL",
    "api_keys": "INSERT INTO api_keys (id, tenant_id, prefix, sha256, scopes)"
    " VALUES ($3, $1, $2::uuid::text, '', '{read}')",
    "create_pace": "INSERT INTO create_pace (tenant_id, next_at)"
    " SELECT $1, now() WHERE $2::uuid IS NOT NULL AND $3::uuid IS NOT NULL",
    "data_keys": "INSERT INTO data_keys (id, tenant_id, ring_key_id, nonce, ciphertext)"
    " SELECT $3, $1, 'r', decode(repeat('00', 12), 'hex'), '' WHERE $2::uuid IS NOT NULL",
    "audit": "INSERT INTO audit (tenant_id, schedule_id, at, action, actor)"
    " SELECT $1, $2, now(), 'created', 'api:k' WHERE $3::uuid IS NOT NULL",
    "secrets": "INSERT INTO secrets (tenant_id, name, id, version, key_id, nonce, ciphertext)"
    " VALUES ($1, 's', $2, 1, $3, decode(repeat('00', 12), 'hex'), '')",
    "signing_secrets": "INSERT INTO signing_secrets (tenant_id, version, key_id, nonce, ciphertext)"
    " SELECT $1, 1, $3, decode(repeat('00', 12), 'hex'), '' WHERE $2::uuid IS NOT NULL",
}

TENANT_TABLES: LiteralString = """
    SELECT c.relname
      FROM pg_class c
     WHERE c.relnamespace = 'rota'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition
       AND EXISTS (SELECT FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
     ORDER BY c.relname
"""


async def add_row(tx: Tx, table: str, tenant: UUID, schedule: UUID, key: UUID) -> None:
    await tx.execute(ROWS[table], tenant, schedule, key)


async def inhabited(db: Database) -> tuple[UUID, UUID]:
    """Two tenants, each with a row in every table of `ROWS`."""
    both = uuid4(), uuid4()
    async with db.transaction() as tx:
        for tenant in both:
            schedule, key = uuid4(), uuid4()
            for table in ROWS:
                await add_row(tx, table, tenant, schedule, key)
    return both
