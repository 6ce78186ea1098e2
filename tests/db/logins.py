"""Logins of the tests' own, next to the one that all tests use."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from rota.db import Database

_PASSWORD: LiteralString = "of-a-test"


async def make_login(db: Database, name: LiteralString, *, member: bool) -> None:
    """A role with which one may log in, with an empty schema; of rota_tenant, or not."""
    async with db.transaction() as tx:
        await tx.execute(
            "DO $$ BEGIN CREATE ROLE " + name + " LOGIN PASSWORD '" + _PASSWORD + "';"
            " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        if member:
            await tx.execute("GRANT rota_tenant TO " + name)
        await tx.execute("CREATE SCHEMA rota AUTHORIZATION " + name)


def as_login(dsn: str, name: str) -> str:
    """The same database, by that login."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(each for each in parts.query.split("&") if not each.startswith("passfile="))
    return parts._replace(netloc=f"{name}:{_PASSWORD}@{host}", query=query).geturl()
