"""The statements about channels. Of their URLs only ciphertext passes through here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.tenants.secrets.cipher import Sealed
from rota.tenants.secrets.sql import joined_key
from rota.watch.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.tenants.secrets.sql import WrappedKey

_ADD: LiteralString = """
    INSERT INTO channels (id, tenant_id, name, events, tags, enabled, shown, scheme, key_id, nonce,
                          ciphertext)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (tenant_id, name) DO NOTHING
 RETURNING *
"""

_COUNT: LiteralString = "SELECT count(*) FROM channels WHERE tenant_id = $1"

_ONE: LiteralString = """
    SELECT * FROM channels WHERE tenant_id = $1 AND (id = $2 OR name = $3) FOR NO KEY UPDATE
"""

_SEEN: LiteralString = """
    SELECT * FROM channels WHERE tenant_id = $1 AND (id = $2 OR name = $3)
"""

_NAMED: LiteralString = "SELECT id FROM channels WHERE tenant_id = $1 AND name = $2"

_LIST: LiteralString = """
    SELECT * FROM channels
     WHERE tenant_id = $1 AND name COLLATE "C" > $2
     ORDER BY name COLLATE "C"
     LIMIT $3
"""

# Who begins to want successes hears of those from now on.
_CHANGE: LiteralString = """
    UPDATE channels
       SET name = $3, events = $4, tags = $5, enabled = $6, updated_at = now(),
           told_until = CASE WHEN enabled AND 'succeeded' = ANY (events)
                             THEN told_until ELSE clock_timestamp() END
     WHERE tenant_id = $1 AND id = $2
 RETURNING *
"""

_RESEAL: LiteralString = """
    UPDATE channels
       SET shown = $3, scheme = $4, version = $5, key_id = $6, nonce = $7, ciphertext = $8,
           last_error = NULL
     WHERE tenant_id = $1 AND id = $2
"""

_DELETE: LiteralString = "DELETE FROM channels WHERE tenant_id = $1 AND id = $2"

_SEALED: LiteralString = """
    SELECT c.id, c.tenant_id, c.version, c.scheme, c.nonce, c.ciphertext,
           k.id AS key_id, k.ring_key_id, k.nonce AS key_nonce, k.ciphertext AS key_ciphertext
      FROM channels c
      JOIN data_keys k ON k.id = c.key_id
     WHERE c.id = ANY ($1::uuid[])
"""


# Those with tags hear of schedules alone.
_OF_INSTALLATION: LiteralString = """
    SELECT id, tenant_id FROM channels
     WHERE enabled AND 'installation' = ANY (events) AND tags = '{}'
     ORDER BY id
"""


async def of_installation(tx: Tx) -> list[tuple[UUID, UUID]]:
    """The channels that are notified of what concerns the whole installation, and their tenants."""
    return [(row["id"], row["tenant_id"]) for row in await tx.fetch(_OF_INSTALLATION)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedUrl:
    """A channel's URL as it is stored, with the data key that opens it."""

    channel_id: UUID
    tenant_id: UUID
    version: int
    scheme: str
    key: WrappedKey
    sealed: Sealed


async def add(tx: Tx, channel: Channel, url: SealedUrl) -> Channel | None:
    """None when the tenant has another of this name."""
    row = await tx.fetch_row(
        _ADD,
        channel.id,
        channel.tenant_id,
        channel.name,
        list(channel.events),
        list(channel.tags),
        channel.enabled,
        channel.shown,
        url.scheme,
        url.key.id,
        *url.sealed,
    )
    return None if row is None else _channel(row)


async def count(tx: Tx, tenant_id: UUID) -> int:
    return await tx.fetch_value(_COUNT, tenant_id)


async def hold(tx: Tx, tenant_id: UUID, named: UUID | str) -> tuple[Channel, int] | None:
    """The channel and its URL's version, not to be changed by others until this ends."""
    row = await tx.fetch_row(_ONE, tenant_id, *_named(named))
    return None if row is None else (_channel(row), row["version"])


async def one(tx: Tx, tenant_id: UUID, named: UUID | str) -> Channel | None:
    row = await tx.fetch_row(_SEEN, tenant_id, *_named(named))
    return None if row is None else _channel(row)


async def id_of(tx: Tx, tenant_id: UUID, name: str) -> UUID | None:
    return await tx.fetch_value(_NAMED, tenant_id, name)


async def listed(tx: Tx, tenant_id: UUID, *, after: str, limit: int) -> list[Channel]:
    return [_channel(row) for row in await tx.fetch(_LIST, tenant_id, after, limit)]


async def change(tx: Tx, channel: Channel) -> Channel:
    row = await tx.fetch_row(
        _CHANGE,
        channel.tenant_id,
        channel.id,
        channel.name,
        list(channel.events),
        list(channel.tags),
        channel.enabled,
    )
    assert row is not None, "a channel that was held is not there"
    return _channel(row)


async def reseal(tx: Tx, url: SealedUrl, shown: str) -> None:
    await tx.execute(
        _RESEAL,
        url.tenant_id,
        url.channel_id,
        shown,
        url.scheme,
        url.version,
        url.key.id,
        *url.sealed,
    )


async def delete(tx: Tx, tenant_id: UUID, id_: UUID) -> bool:
    return await tx.execute(_DELETE, tenant_id, id_) == 1


async def sealed(tx: Tx, ids: Sequence[UUID]) -> list[SealedUrl]:
    """The URLs of those of the channels that there are."""
    return [
        SealedUrl(
            channel_id=row["id"],
            tenant_id=row["tenant_id"],
            version=row["version"],
            scheme=row["scheme"],
            key=joined_key(row),
            sealed=Sealed(row["nonce"], row["ciphertext"]),
        )
        for row in await tx.fetch(_SEALED, list(ids))
    ]


def _named(named: UUID | str) -> tuple[UUID | None, str | None]:
    return (None, named) if isinstance(named, str) else (named, None)


def _channel(row: Row) -> Channel:
    return Channel(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        shown=row["shown"],
        events=tuple(row["events"]),
        tags=tuple(row["tags"]),
        enabled=row["enabled"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_sent_at=row["last_sent_at"],
        last_error=row["last_error"],
    )
