"""The vault of a server that starts: its ring found or made, and seen to fit the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.errors import OperatorError
from rota.tenants.secrets import Rings, Vault, rings, rotate

if TYPE_CHECKING:
    from rota.config import Config
    from rota.db import Database


async def open_vault(db: Database, config: Config) -> Vault:
    """The vault for this configuration and this (migrated) database.

    The embedded server's ring is made at its first start. Without a ring the vault is off; a ring
    that cannot open what the database has is refused here, before anything could fail by it.
    """
    await _make_embedded_ring(db, config)
    ring = Rings.of(config)
    vault = Vault(ring)
    await db.run(lambda tx: rotate.check(tx, ring, vault), read_only=True)
    return vault


async def _make_embedded_ring(db: Database, config: Config) -> None:
    path = rings.file_of(config)
    if path is None or config.secret_keys_file is not None or path.exists():
        return
    if await db.run(rotate.used_ids, read_only=True):
        # A new key would open nothing, and hide that the old one is missing.
        raise OperatorError(
            "this database has secrets, and the file of the keys that open them is gone: "
            f"put {path} back from a backup"
        )
    rings.make_file(path)
