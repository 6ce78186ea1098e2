"""Answers that were given once and are given again: what makes the retry of a request safe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Tx

KEEP: Final = timedelta(days=1)
_BATCH = 10_000

# Whoever comes second waits here until the first has committed or given up: then there is a row to
# be read, or none and the turn is its own.
_RESERVE: LiteralString = """
    INSERT INTO answers (tenant_id, key, fingerprint) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
 RETURNING true
"""

_FIND: LiteralString = """
    SELECT fingerprint, status, content, headers FROM answers WHERE tenant_id = $1 AND key = $2
"""

_KEEP: LiteralString = """
    UPDATE answers
       SET status = $3, content = $4, headers = $5::jsonb
     WHERE tenant_id = $1 AND key = $2
"""

_RELEASE: LiteralString = "DELETE FROM answers WHERE tenant_id = $1 AND key = $2"

_FORGET: LiteralString = """
    DELETE FROM answers
     WHERE (tenant_id, key) IN (
           SELECT tenant_id, key FROM answers
            WHERE created_at < now() - $1::interval ORDER BY created_at LIMIT $2)
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, and to which request."""

    fingerprint: bytes
    status: int
    content: bytes
    headers: dict[str, str]


async def reserve(tx: Tx, tenant_id: UUID, key: str, fingerprint: bytes) -> bool:
    """Whether this is the first request with the key; if so, `keep` its answer before the end."""
    return bool(await tx.fetch_value(_RESERVE, tenant_id, key, fingerprint))


async def find(tx: Tx, tenant_id: UUID, key: str) -> Answer | None:
    """The answer that was kept for the key."""
    row = await tx.fetch_row(_FIND, tenant_id, key)
    if row is None:
        return None
    headers = msgspec.json.decode(row["headers"], type=dict[str, str])
    return Answer(row["fingerprint"], row["status"], row["content"], headers)


async def keep(
    tx: Tx,
    tenant_id: UUID,
    key: str,
    *,
    status: int,
    content: bytes,
    headers: Mapping[str, str],
) -> None:
    """Answer so whenever the request comes again."""
    written = msgspec.json.encode(dict(headers)).decode()
    await tx.execute(_KEEP, tenant_id, key, status, content, written)


async def release(tx: Tx, tenant_id: UUID, key: str) -> None:
    """Give a reserved key back: nothing was done under it."""
    await tx.execute(_RELEASE, tenant_id, key)


async def forget(tx: Tx) -> int:
    """Delete some answers older than a day; call again while it returns more than 0."""
    return await tx.execute(_FORGET, KEEP, _BATCH)
