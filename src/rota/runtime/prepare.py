"""What a start does to a database before anything runs: migrations, partitions, the first key."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import migrate
from rota.db.installation import Installation
from rota.db.installation import read as read_installation
from rota.history import retention
from rota.runtime import files
from rota.tenants import service as tenants
from rota.tenants import sql as tenants_sql
from rota.tenants.keys import read as read_key
from rota.tenants.tenant import MIN_INTERVAL, Tenant

if TYPE_CHECKING:
    from datetime import date
    from uuid import UUID

    from rota.config import Config
    from rota.db import Database, Tx

EMBEDDED_MIN_INTERVAL = timedelta(seconds=1)
"""Whoever runs the embedded server harms nobody else by firing every second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A database that is ready for this program."""

    installation: Installation
    operator: UUID
    """The operator's tenant."""
    new_key: str | None = field(repr=False)
    """An admin key that was made just now and is stored nowhere: show it."""


async def prepare(db: Database, config: Config, *, make_key: bool = True) -> Prepared:
    """Bring the database up to this program. Any number of processes may do so at once.

    Without `make_key` no admin key is made where nobody would be shown it; the embedded server's
    key is kept in its folder all the same.
    """
    await migrate.apply(db)
    today = await db.run(today_of, read_only=True)
    await db.run(lambda tx: retention.ensure(tx, today), repeatable=True)

    async def settle(tx: Tx) -> Prepared:
        tenant = await tenants.default_tenant(tx, min_interval=_min_interval(config))
        installation = await read_installation(tx)
        new_key = None
        if make_key or config.dsn is None:
            new_key = await tenants.first_admin_key(tx, config.admin_key)
        if config.dsn is None:
            new_key = await _keep_key(tx, tenant, config, new_key)
        shown = None if config.admin_key else new_key
        return Prepared(installation=installation, operator=tenant.id, new_key=shown)

    # Not repeatable: a key whose commit is in doubt must not be shown as if it were good.
    return await db.run(settle)


async def today_of(tx: Tx) -> date:
    """The day it is in UTC, by the database's clock."""
    return await tx.fetch_value("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")


async def _keep_key(tx: Tx, tenant: Tenant, config: Config, made: str | None) -> None:
    """See that the data folder holds a key that is in force, for the commands beside the server."""
    kept = files.read(config.data_dir, files.KEY)
    if made is None and kept is not None and await _is_known(tx, kept):
        return
    text = made or (await tenants.create_key(tx, tenant, scopes=("admin",))).text
    files.write(config.data_dir, files.KEY, text)


async def _is_known(tx: Tx, text: str) -> bool:
    key = read_key(text)
    stored = await tenants_sql.key_by_prefix(tx, key.prefix) if key else None
    return key is not None and stored is not None and key.matches(stored.sha256)


def _min_interval(config: Config) -> timedelta:
    return EMBEDDED_MIN_INTERVAL if config.dsn is None else MIN_INTERVAL
