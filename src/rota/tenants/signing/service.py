"""Making, rotating and reading signing secrets."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidInput
from rota.tenants import sql as tenants_sql
from rota.tenants.secrets import cipher
from rota.tenants.signing import sql
from rota.tenants.signing.secret import SigningSecret, draw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.secrets import Vault
    from rota.tenants.secrets.sql import WrappedKey

OVERLAP: Final = timedelta(hours=24)
"""How long the secret before a rotation signs beside the new one, unless said otherwise."""
MAX_OVERLAP: Final = timedelta(days=30)


class SigningSecrets:
    """The signing secrets in a vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @property
    def is_on(self) -> bool:
        """Whether requests are signed at all: not without a key ring."""
        return self._vault.is_on

    async def of(self, tx: Tx, tenant_id: UUID) -> list[SigningSecret]:
        """Those that sign now, the newest first; the first is made when there is none."""
        return (await self.of_all(tx, [tenant_id]))[tenant_id]

    async def of_all(self, tx: Tx, tenant_ids: Sequence[UUID]) -> dict[UUID, list[SigningSecret]]:
        """`of`, for many tenants at once."""
        found = await self._read(tx, tenant_ids)
        # In one order, so that two workers that make them for the same tenants never block in a
        # circle.
        lacking = sorted(set(tenant_ids) - found.keys())
        for tenant_id in lacking:
            await self._make_first(tx, tenant_id)
        return found | await self._read(tx, lacking) if lacking else found

    async def rotate(
        self, tx: Tx, tenant_id: UUID, *, overlap: timedelta = OVERLAP
    ) -> list[SigningSecret]:
        """A new one, with the ones before signing beside it for as long as `overlap`."""
        if not timedelta() <= overlap <= MAX_OVERLAP:
            raise InvalidInput(
                f"Invalid overlap: expected 0 to {MAX_OVERLAP.days} days, got {overlap}",
                field="overlap",
            )
        key = await self._vault.hold_key(tx, tenant_id)
        await sql.retire(tx, tenant_id, overlap=overlap)
        await self._add(tx, tenant_id, key)
        await tenants_sql.announce_change(tx, tenant_id)
        return await self.of(tx, tenant_id)

    async def _make_first(self, tx: Tx, tenant_id: UUID) -> None:
        key = await self._vault.hold_key(tx, tenant_id)
        # Another may have been first, and have let go of the key just now.
        if not await sql.newest(tx, tenant_id):
            await self._add(tx, tenant_id, key)

    async def _add(self, tx: Tx, tenant_id: UUID, key: WrappedKey) -> None:
        version = await sql.newest(tx, tenant_id) + 1
        place = cipher.place_of_signing(tenant_id, version)
        sealed = cipher.seal(self._vault.unwrap(key), draw(), place=place)
        await sql.add(tx, tenant_id, version, key.id, sealed)

    async def _read(self, tx: Tx, tenant_ids: Sequence[UUID]) -> dict[UUID, list[SigningSecret]]:
        found: dict[UUID, list[SigningSecret]] = {}
        for each in await sql.active(tx, tenant_ids):
            place = cipher.place_of_signing(each.tenant_id, each.version)
            secret = SigningSecret(
                version=each.version,
                key=cipher.unseal(self._vault.unwrap(each.key), each.sealed, place=place),
                created_at=each.created_at,
                retired_at=each.retired_at,
                shared=each.shared,
            )
            found.setdefault(each.tenant_id, []).append(secret)
        return found
