"""Keeping claims, hearing which of them are wanted back, and giving them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.queue import extend_sql as sql

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim


@dataclass(frozen=True, slots=True)
class Extended:
    """The answer to a heartbeat."""

    lost: frozenset[UUID]
    """No longer the worker's: rescued, cancelled or ended. Whatever it does with them is void."""
    cancelled: Mapping[UUID, str]
    """Still the worker's, but somebody wants them ended, for this reason."""
    edited: frozenset[UUID] = frozenset()
    """Still the worker's, but of another version of their schedule than when they were claimed."""


async def extend(
    tx: Tx, worker: UUID, claims: Collection[Claim], visibility: timedelta
) -> Extended:
    """Keep the worker's claims for another `visibility` (QW12), all in one statement."""
    ids, attempts = [c.id for c in claims], [c.attempt for c in claims]
    rows = await tx.fetch(sql.EXTEND, worker, ids, attempts, visibility)
    kept: dict[UUID, str | None] = {row["id"]: row["cancel_reason"] for row in rows}
    versions = {row["id"]: row["version"] for row in rows}
    return Extended(
        lost=frozenset(id_ for id_ in ids if id_ not in kept),
        cancelled={id_: reason for id_, reason in kept.items() if reason is not None},
        edited=frozenset(c.id for c in claims if versions.get(c.id, c.version) != c.version),
    )


async def release(tx: Tx, worker: UUID, claims: Collection[Claim]) -> int:
    """Give back claims that were not begun, as if they had never been claimed; how many it were."""
    ids, attempts = [c.id for c in claims], [c.attempt for c in claims]
    return len(await tx.fetch(sql.RELEASE, worker, ids, attempts))


async def release_strays(tx: Tx, worker: UUID, *, known: Collection[UUID]) -> int:
    """Give back all the worker's claims but those of the firings it knows of; how many it were.

    For a worker whose claim was made and whose answer was lost.
    """
    return len(await tx.fetch(sql.RELEASE_STRAYS, worker, list(known)))
