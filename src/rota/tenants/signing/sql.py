"""The statements about signing secrets. Only ciphertext passes through here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.tenants.secrets.cipher import Sealed
from rota.tenants.secrets.sql import joined_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.secrets.sql import WrappedKey

# The newest first; those that have retired are of no use to anybody.
_ACTIVE: LiteralString = """
    SELECT s.tenant_id, s.version, s.nonce, s.ciphertext, s.created_at, s.retired_at, s.shared,
           k.id AS key_id, k.ring_key_id, k.nonce AS key_nonce, k.ciphertext AS key_ciphertext
      FROM signing_secrets s
      JOIN data_keys k ON k.id = s.key_id
     WHERE s.tenant_id = ANY ($1::uuid[])
       AND (s.retired_at IS NULL OR s.retired_at > clock_timestamp())
     ORDER BY s.tenant_id, s.version DESC
"""

_NEWEST: LiteralString = """
    SELECT coalesce(max(version), 0) FROM signing_secrets WHERE tenant_id = $1
"""

_ADD: LiteralString = """
    INSERT INTO signing_secrets (tenant_id, version, key_id, nonce, ciphertext, shared)
    VALUES ($1, $2, $3, $4, $5, false)
"""

# Never later than they were to retire anyhow: with no overlap, all of them go at once.
_RETIRE: LiteralString = """
    UPDATE signing_secrets
       SET retired_at = least(retired_at, clock_timestamp() + $2)
     WHERE tenant_id = $1
"""

_FORGET: LiteralString = """
    DELETE FROM signing_secrets WHERE tenant_id = $1 AND retired_at <= clock_timestamp()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSigning:
    """A version as it is stored, with the data key that opens it."""

    tenant_id: UUID
    version: int
    sealed: Sealed
    key: WrappedKey
    created_at: datetime
    retired_at: datetime | None
    shared: bool


async def active(tx: Tx, tenant_ids: Sequence[UUID]) -> list[SealedSigning]:
    """Those that sign now, by tenant, the newest first."""
    return [
        SealedSigning(
            tenant_id=row["tenant_id"],
            version=row["version"],
            sealed=Sealed(row["nonce"], row["ciphertext"]),
            key=joined_key(row),
            created_at=row["created_at"],
            retired_at=row["retired_at"],
            shared=row["shared"],
        )
        for row in await tx.fetch(_ACTIVE, list(tenant_ids))
    ]


async def newest(tx: Tx, tenant_id: UUID) -> int:
    """The highest version there is; 0 when there is none."""
    return await tx.fetch_value(_NEWEST, tenant_id)


async def add(tx: Tx, tenant_id: UUID, version: int, key_id: UUID, sealed: Sealed) -> None:
    await tx.execute(_ADD, tenant_id, version, key_id, *sealed)


async def retire(tx: Tx, tenant_id: UUID, *, overlap: timedelta) -> None:
    """Let all that sign now end with the overlap; drop those that have ended."""
    await tx.execute(_FORGET, tenant_id)
    await tx.execute(_RETIRE, tenant_id, overlap)
