"""A claim as it stands, for whoever does its work from outside: by token, not by heartbeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.queue import claimed_sql
from rota.queue.claim import Claim
from rota.queue.states import NOBODY

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claim, who holds it, and what is known of its attempt."""

    claim: Claim
    worker: UUID
    """`NOBODY` when it is left to its target."""
    started_at: datetime | None
    """None while its worker has not heard from the target."""
    code: int | None
    """What the target answered when it took the work on."""
    by: str | None = None
    """What the worker calls itself, if it was pulled and has said so."""

    @property
    def is_detached(self) -> bool:
        return self.worker == NOBODY


async def claimed(tx: Tx, firing_id: UUID) -> Claimed | None:
    """The firing's claim, ours until the transaction ends; None when nobody has one."""
    row = await tx.fetch_row(claimed_sql.HELD, firing_id)
    return None if row is None else of_row(row)


async def keep(tx: Tx, held: Claimed, length: timedelta) -> datetime:
    """Leave it to its holder for this long from now, or as long as it had anyway."""
    claim = held.claim
    until: datetime = await tx.fetch_value(claimed_sql.KEEP, claim.id, claim.attempt, length)
    return until


def of_row(row: Row) -> Claimed:
    """What a row of the statements here is."""
    values = dict(row.items())
    names = ("worker", "started_at", "response_status", "pulled_by")
    apart = {name: values.pop(name) for name in names}
    return Claimed(
        claim=Claim(**values),
        worker=apart["worker"],
        started_at=apart["started_at"],
        code=apart["response_status"],
        by=apart["pulled_by"],
    )
