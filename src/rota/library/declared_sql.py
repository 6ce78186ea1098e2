"""The statements of declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.db import locks
from rota.leases.node import LOCK_CLASS
from rota.library.declaration import InForce, Known, Standing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.library.declaration import Declaration

# One start at a time for each tenant: two that made the same key at once would wait for each other
# in the middle, each with half of its schedules.
_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(" + locks.DECLARATIONS + ")"

_JOIN: LiteralString = """
    INSERT INTO declarers (node_id, tenant_id, app, fingerprint) VALUES ($1, $2, $3, $4)
        ON CONFLICT (node_id, tenant_id, app) DO UPDATE SET fingerprint = excluded.fingerprint
"""

_FORGET: LiteralString = """
    DELETE FROM declarers d
     WHERE d.tenant_id = $1 AND d.app = $2 AND d.joined_at < now() - interval '1 hour'
       AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = d.node_id)
"""

# A node is there while it holds its session, or was heard of lately. Just after the database came
# back nobody has had the time to say so, and everybody counts as there.
_STANDING: LiteralString = """
    WITH mine AS (
        SELECT fingerprint, version, applied_at FROM declarations
         WHERE tenant_id = $1 AND app = $2),
    current AS (
        SELECT fingerprint, version FROM mine ORDER BY applied_at DESC, fingerprint LIMIT 1),
    locked AS (
        SELECT objid::bigint AS key FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = $3::bigint::oid
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    SELECT (SELECT fingerprint FROM current) AS fingerprint,
           (SELECT version FROM current) AS version,
           ARRAY (SELECT fingerprint FROM mine) AS seen,
           EXISTS (
               SELECT FROM declarers d JOIN nodes n ON n.id = d.node_id
                WHERE d.tenant_id = $1 AND d.app = $2 AND d.node_id <> $4
                  AND d.fingerprint = (SELECT fingerprint FROM current)
                  AND (n.lock_key IN (SELECT key FROM locked)
                       OR n.seen_at > clock_timestamp() - $5::interval
                       OR pg_postmaster_start_time() > clock_timestamp() - $5::interval)
           ) AS is_alive
"""

_KNOWN: LiteralString = """
    SELECT coalesce(d.key, s.key) AS key, d.app, d.fingerprint, s.id IS NOT NULL AS exists
      FROM (SELECT key, app, fingerprint FROM declared
             WHERE tenant_id = $1 AND (app = $2 OR key = ANY ($3::text[]))) d
      FULL JOIN (SELECT id, key FROM schedules
                  WHERE tenant_id = $1
                    AND (key = ANY ($3::text[])
                         OR key IN (SELECT key FROM declared
                                     WHERE tenant_id = $1 AND app = $2))) s
        ON s.key = d.key
"""

_APPLIED: LiteralString = """
    INSERT INTO declarations (tenant_id, app, fingerprint, version, applied_at)
    VALUES ($1, $2, $3, $4, clock_timestamp())
        ON CONFLICT (tenant_id, app, fingerprint)
        DO UPDATE SET version = excluded.version, applied_at = excluded.applied_at
"""

# What was replaced hundreds of deploys ago will not come back by accident.
_FORGET_OLD: LiteralString = """
    DELETE FROM declarations
     WHERE tenant_id = $1 AND app = $2
       AND applied_at < (SELECT applied_at FROM declarations
                          WHERE tenant_id = $1 AND app = $2
                          ORDER BY applied_at DESC OFFSET 500 LIMIT 1)
"""

_NOTE: LiteralString = """
    INSERT INTO declared (tenant_id, key, app, fingerprint)
    SELECT $1, each.key, $2, each.fingerprint
      FROM unnest($3::text[], $4::text[]) AS each (key, fingerprint)
        ON CONFLICT (tenant_id, key)
        DO UPDATE SET app = excluded.app, fingerprint = excluded.fingerprint
"""

_UNNOTE: LiteralString = "DELETE FROM declared WHERE tenant_id = $1 AND key = ANY ($2::text[])"

_IDS: LiteralString = "SELECT id FROM schedules WHERE tenant_id = $1 AND key = ANY ($2::text[])"


async def lock(tx: Tx, tenant_id: UUID) -> None:
    """Wait until nobody else declares anything for the tenant."""
    await tx.execute(_LOCK, str(tenant_id))


async def join(tx: Tx, tenant_id: UUID, node_id: UUID, ours: Declaration) -> None:
    """Say that this node runs our declaration, and forget those who are long gone."""
    await tx.execute(_FORGET, tenant_id, ours.app)
    await tx.execute(_JOIN, node_id, tenant_id, ours.app, ours.fingerprint)


async def standing(tx: Tx, tenant_id: UUID, app: str, *, but: UUID, grace: timedelta) -> Standing:
    """How the database stands to the app's declarations, as seen by the node `but`."""
    row = await tx.fetch_row(_STANDING, tenant_id, app, LOCK_CLASS, but, grace)
    assert row is not None
    current = None
    if row["fingerprint"] is not None:
        version = row["version"]
        current = InForce(row["fingerprint"], None if version is None else tuple(version))
    return Standing(in_force=current, seen=frozenset(row["seen"]), is_alive=bool(row["is_alive"]))


async def known(tx: Tx, tenant_id: UUID, app: str, keys: Collection[str]) -> dict[str, Known]:
    """What there is of these keys, and of all that the app has declared."""
    rows = await tx.fetch(_KNOWN, tenant_id, app, list(keys))
    return {row["key"]: Known(row["app"], row["fingerprint"], row["exists"]) for row in rows}


async def applied(tx: Tx, tenant_id: UUID, ours: Declaration) -> None:
    """Note that our declaration is in force from now on."""
    version = None if ours.version is None else list(ours.version)
    await tx.execute(_APPLIED, tenant_id, ours.app, ours.fingerprint, version)
    await tx.execute(_FORGET_OLD, tenant_id, ours.app)


async def note(tx: Tx, tenant_id: UUID, app: str, fingerprints: Mapping[str, str]) -> None:
    """Note what was taken over from code, by key."""
    if fingerprints:
        await tx.execute(_NOTE, tenant_id, app, list(fingerprints), list(fingerprints.values()))


async def unnote(tx: Tx, tenant_id: UUID, keys: Collection[str]) -> None:
    if keys:
        await tx.execute(_UNNOTE, tenant_id, list(keys))


async def ids(tx: Tx, tenant_id: UUID, keys: Collection[str]) -> list[UUID]:
    """The schedules of these keys."""
    return [row["id"] for row in await tx.fetch(_IDS, tenant_id, list(keys))]
