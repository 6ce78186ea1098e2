"""Recording what became of claims: the end of a firing, or another attempt later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from rota.errors import ContractBroken
from rota.queue import plain, plain_sql, sql
from rota.queue.follow import FOLLOWED, End, follow
from rota.queue.states import NOBODY, RECALLS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.chains import Chains
    from rota.queue.claim import Claim
    from rota.queue.states import Status


CUT_MARK: Final = "capture_cut"
"""In an attempt's request: that only excerpts of it and of the response were kept."""


class Tried(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    task: str | None = None
    """In place of a request: this task was called, with the firing's own payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a firing that has several (`queue.saga`)."""

    name: str
    compensating: bool = False
    state: str | None = None
    """Where the firing goes on, as JSON; None when it does not."""
    lane: str | None = None
    host: str | None = None
    shown: str | None = None
    """Of one that has ended: what became of all its steps, as JSON."""

    @property
    def stored(self) -> str:
        """As the statement reads it."""
        parts = {"step": self.name, "compensating": self.compensating}
        if self.state is not None:
            parts |= {"state": msgspec.Raw(self.state), "lane": self.lane, "host": self.host}
        if self.shown is not None:
            parts |= {"steps": msgspec.Raw(self.shown)}
        return msgspec.json.encode(parts).decode()


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to become of a claim: it ends with a status, is tried again at `retry_at`, or is left
    to its target until `detached_until`.

    A Struct, as a `Claim` is, and for the same reason.
    """

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
    result: bytes | None = None
    """What it answered, for those that follow; None when that is too long to hand on."""
    step: Step | None = None
    """Of a firing that goes through steps: which one this was, and what comes next."""

    def __post_init__(self) -> None:
        ways = (self.status, self.retry_at, self.detached_until, self.step and self.step.state)
        if ways.count(None) != 3:
            raise ContractBroken(
                "expected a claim to end, to be tried again, to go on or to be left to its target, "
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
        said = len(tried.request or "") + len(tried.response_headers or "")
        return said + len(tried.response_body or self.result or b"")


@dataclass(frozen=True, slots=True)
class Settled:
    """Which settlements were taken."""

    accepted: frozenset[UUID]
    freed: int
    """How many blocked firings may go now."""


async def settle(
    tx: Tx, worker: UUID, settlements: Sequence[Settlement], chains: Chains | None = None
) -> Settled:
    """Record them all at once; those whose claim is no longer the worker's are refused.

    Whoever ends a firing lets the next blocked one of its schedule go, and fires what follows it.
    `chains` is for those who do this often.
    """
    plainly, others = plain.apart(settlements)
    accepted: set[UUID] = set()
    freed = 0
    followed: set[UUID] = set()
    if chains is not None:
        await chains.lock(tx, (each.claim.schedule_id for each in settlements))
    # The plain ones last: whoever pauses a schedule waits for all rows of it but those.
    if others:
        rows = await tx.fetch(
            sql.SETTLE,
            worker,
            *_columns(others),
            sorted(RECALLS),
            NOBODY,
            [each.step and each.step.stored for each in others],
        )
        accepted.update(row["id"] for row in rows if row["what"] == "settled")
        freed += sum(row["what"] == "freed" for row in rows)
        followed.update(row["id"] for row in rows if row["what"] == "followed")
    if plainly:
        plainly.sort(key=_by_id)
        (row,) = await tx.fetch(plain_sql.PLAIN, worker, *plain.columns(plainly))
        ids = row["accepted"]
        accepted.update([each.claim.id for each in plainly] if ids is None else ids)
        freed += row["freed"]
        followed.update(row["followed"])
    if followed:
        ends = [_end(s) for s in settlements if s.claim.id in followed]
        if chains is not None:
            chains.saw(each.schedule_id for each in ends)
        freed += await follow(tx, ends)
    if len(accepted) < len(settlements):
        missing = [each.claim for each in settlements if each.claim.id not in accepted]
        accepted |= await _already(tx, worker, missing)
    return Settled(frozenset(accepted), freed)


def _by_id(each: Settlement) -> UUID:
    return each.claim.id


def _end(each: Settlement) -> End:
    assert each.status in FOLLOWED
    return End(
        id=each.claim.id,
        schedule_id=each.claim.schedule_id,
        scheduled_for=each.claim.scheduled_for,
        status=each.status,
        reason=each.reason,
        result=each.result,
    )


async def _already(tx: Tx, worker: UUID, claims: list[Claim]) -> set[UUID]:
    rows = await tx.fetch(
        plain_sql.ALREADY_SETTLED,
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
        tried and _request(each, tried),
        tried and tried.response_headers,
        tried and tried.response_body,
    )


def _request(each: Settlement, tried: Tried) -> str | None:
    if tried.task is None:
        return tried.request
    name = msgspec.json.encode(tried.task).decode()
    return f'{{"task":{name},"payload":{each.claim.payload or "null"}}}'
