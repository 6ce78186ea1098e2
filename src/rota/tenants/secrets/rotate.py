"""Moving everything under the ring's current key, and seeing that the ring fits the database.

Only what is wrapped by the ring moves: data keys and the installation's own keys. Secrets stay as
they are, under their tenant's data key. Each batch is a transaction of its own and each row says
under which key it is, so a rotation that was killed half-way is finished by running it again; until
then both keys are needed, and both are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.errors import OperatorError
from rota.tenants.secrets import cipher, rotate_sql, sql
from rota.tenants.secrets.cipher import BrokenSecret, Sealed
from rota.tenants.secrets.ring import HOW_TO_SET
from rota.tenants.secrets.service import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db import Database, Tx
    from rota.tenants.secrets.ring import Ring
    from rota.tenants.secrets.rings import Rings
    from rota.tenants.secrets.service import Vault

_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation did."""

    current: str
    moved: int
    unused: tuple[str, ...]
    """Keys of the ring that seal nothing any more, and may be taken out of it."""


async def rotate(
    db: Database, rings: Rings, *, on_batch: Callable[[int], None] = lambda _: None
) -> Rotated:
    """Re-wrap everything that is not under the ring's current key.

    Every process must have the current key in its ring by now, or it will not be able to read.
    `on_batch` hears how many have been moved so far.
    """
    ring = rings.now()
    moved = await db.run(lambda tx: _installation_keys(tx, ring), repeatable=True)
    while True:
        batch = await db.run(lambda tx: _data_keys(tx, ring), repeatable=True)
        moved += batch
        if not batch:
            break
        on_batch(moved)
    used = await db.run(used_ids, read_only=True)
    unused = tuple(key_id for key_id in ring.ids if key_id not in used and key_id != ring.current)
    return Rotated(current=ring.current, moved=moved, unused=unused)


async def used_ids(tx: Tx) -> set[str]:
    """The ids of the ring keys with which something in the database is sealed."""
    return {row["ring_key_id"] for row in await tx.fetch(rotate_sql.USED)}


async def check(tx: Tx, rings: Rings, vault: Vault) -> None:
    """Refuse, with the reason, a ring that cannot open what the database has."""
    used = await used_ids(tx)
    if not rings.is_there:
        if used:
            raise OperatorError(
                f"this database has secrets, and there is no key ring to open them: {HOW_TO_SET}"
            )
        return
    ring = rings.now()
    for key_id in sorted(used):
        ring.key(key_id)
    for row in await tx.fetch(rotate_sql.SAMPLES):
        key = sql.wrapped_key(row)
        try:
            vault.unwrap(key)
        except BrokenSecret as error:
            raise OperatorError(
                f'the key "{key.ring_key_id}" of the ring is not the one with which this '
                "database's secrets were sealed: give it another id, and put the old one back"
            ) from error


async def _data_keys(tx: Tx, ring: Ring) -> int:
    rows = await tx.fetch(rotate_sql.OLD_DATA_KEYS, ring.current, _BATCH)
    for row in rows:
        old = sql.wrapped_key(row)
        place = cipher.place_of_data_key(old.tenant_id, old.id)
        plain = cipher.unseal(ring.key(old.ring_key_id), old.sealed, place=place)
        new = wrap(ring, plain, tenant_id=old.tenant_id, key_id=old.id)
        await tx.execute(rotate_sql.REWRAP_DATA_KEY, new.id, new.ring_key_id, *new.sealed)
    return len(rows)


async def _installation_keys(tx: Tx, ring: Ring) -> int:
    rows = await tx.fetch(rotate_sql.OLD_INSTALLATION_KEYS, ring.current)
    for row in rows:
        place = cipher.place_of_installation_key(row["name"])
        sealed = Sealed(row["nonce"], row["ciphertext"])
        plain = cipher.unseal(ring.key(row["ring_key_id"]), sealed, place=place)
        new = cipher.seal(ring.key(ring.current), plain, place=place)
        await tx.execute(rotate_sql.REWRAP_INSTALLATION_KEY, row["name"], ring.current, *new)
    return len(rows)
