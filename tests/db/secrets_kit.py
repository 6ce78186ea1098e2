"""Rings, vaults and tenants for tests of secrets."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from rota.tenants import sql as tenants_sql
from rota.tenants.secrets import Masked, Ring, Rings, Vault
from rota.tenants.secrets import ring as rings

if TYPE_CHECKING:
    from rota.db import Database

KEYS = {id_: rings.new_entry(id_) for id_ in ("k1", "k2", "k3")}


def ring_text(*ids: str) -> str:
    """As ROTA_SECRET_KEYS has it; the same keys for the same ids in one run of the tests."""
    return ",".join(KEYS[id_] for id_ in ids)


def ring(*ids: str) -> Ring:
    return rings.parse(ring_text(*ids), where="tests")


def ringed(*ids: str) -> Rings:
    return Rings.fixed(ring(*ids))


def vault(*ids: str) -> Vault:
    return Vault(ringed(*(ids or ("k1",))))


async def tenant(db: Database) -> UUID:
    """A new one."""
    id_ = uuid4()
    async with db.transaction() as tx:
        await tenants_sql.make_tenant(tx, id_, f"t{id_.hex}", timedelta(seconds=1))
    return id_


async def put(db: Database, vault: Vault, tenant_id: UUID, **values: str) -> None:
    async with db.transaction() as tx:
        for name, value in values.items():
            await vault.put(tx, tenant_id, name, Masked(value))


async def read(db: Database, vault: Vault, tenant_id: UUID, *names: str) -> dict[str, str]:
    async with db.transaction(read_only=True) as tx:
        found = await vault.values(tx, [(tenant_id, name) for name in names])
    return {name: value.reveal() for (_, name), value in found.items()}
