"""Recording what became of claims: the end of a firing, or another attempt later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.errors import ContractBroken
from rota.queue import sql
from rota.queue.states import NOBODY, RECALLS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim
    from rota.queue.states import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt, as it is remembered (RT4)."""

    outcome: str
    """succeeded, failed, timed_out, cancelled, interrupted; accepted while its target works on it
    by itself. `lost` is for rescue to say."""
    error: str | None = None
    request: str | None = None
    """JSON."""
    response_headers: str | None = None
    """JSON."""
    response_body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What is to become of a claim: it ends with a status, is tried again at `retry_at`, or is left
    to its target until `detached_until`."""

    claim: Claim
    started_at: datetime | None
    """None when no attempt was made."""
    finished_at: datetime
    status: Status | None = None
    reason: str | None = None
    retry_at: datetime | None = None
    detached_until: datetime | None = None
    tried: Tried | None = None
    """None when no attempt was made."""
    code: int | None = None
    excerpt: str | None = None
    gone: bool = False
    """The target is no more, as it said: whoever settles this pauses the schedule."""

    def __post_init__(self) -> None:
        ways = (self.status, self.retry_at, self.detached_until)
        if sum(way is not None for way in ways) != 1:
            raise ContractBroken(
                "expected a claim to end, to be tried again or to be left to its target, "
                "got none of these or several"
            )
        if (self.tried is None) != (self.started_at is None):
            raise ContractBroken("expected an attempt to have a start, and a start an attempt")

    @property
    def size(self) -> int:
        """Bytes worth counting when many wait to be recorded."""
        tried = self.tried
        if tried is None:
            return 0
        return sum(map(len, (tried.request or "", tried.response_headers or ""))) + len(
            tried.response_body or b""
        )


@dataclass(frozen=True, slots=True)
class Settled:
    """Which settlements were taken."""

    accepted: frozenset[UUID]
    freed: int
    """How many blocked firings may go now."""


async def settle(tx: Tx, worker: UUID, settlements: Sequence[Settlement]) -> Settled:
    """Record them all in one statement; those whose claim is no longer the worker's are refused.

    Whoever ends a firing lets the next blocked one of its schedule go.
    """
    rows = await tx.fetch(sql.SETTLE, worker, *_columns(settlements), sorted(RECALLS), NOBODY)
    accepted = {row["id"] for row in rows if row["what"] == "settled"}
    freed = sum(row["what"] == "freed" for row in rows)
    missing = [each.claim for each in settlements if each.claim.id not in accepted]
    if missing:
        accepted |= await _already(tx, worker, missing)
    return Settled(frozenset(accepted), freed)


async def _already(tx: Tx, worker: UUID, claims: list[Claim]) -> set[UUID]:
    rows = await tx.fetch(
        sql.ALREADY_SETTLED,
        worker,
        [each.id for each in claims],
        [each.attempt for each in claims],
        [each.scheduled_for for each in claims],
    )
    return {row["firing_id"] for row in rows}


def _columns(settlements: Sequence[Settlement]) -> tuple[list[object], ...]:
    """One list for each column of the statement's rows."""
    rows = [_row(each) for each in settlements]
    return tuple(list(column) for column in zip(*rows, strict=True))


def _row(each: Settlement) -> tuple[object, ...]:
    tried = each.tried
    return (
        each.claim.id,
        each.claim.attempt,
        each.status,
        each.reason,
        each.retry_at,
        each.detached_until,
        each.started_at,
        each.finished_at,
        each.code,
        each.excerpt,
        tried and tried.outcome,
        tried and tried.error,
        tried and tried.request,
        tried and tried.response_headers,
        tried and tried.response_body,
    )
