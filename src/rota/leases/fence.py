"""The proof that a transaction may write: its lease's fence is still the newest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import FencedTx, Tx
from rota.errors import TemporaryError
from rota.leases import sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.leases.lease import Lease


class FenceLost(TemporaryError):
    """Another node holds one of the shards by now: nothing may be written for them."""

    def __init__(self, shards: tuple[int, ...]) -> None:
        super().__init__(f"expected to hold shards {list(shards)}, got newer holders")
        self.shards = shards


WITHIN: Final = timedelta(seconds=10)
"""For a transaction under a fence: less than a lease has, so that whoever freezes in the middle of
one holds up its successor no longer than if it had vanished."""


HELD: LiteralString = sql.HOLD
"""`hold` as a part of a statement that is a transaction by itself: the fences that are current, as
(shard, fence), locked until it ends. It must write nothing for other shards. Its parameters are the
statement's first, made by `proving`."""


def proving(leases: Iterable[Lease]) -> tuple[object, ...]:
    """The parameters of HELD."""
    return sql.holding(_fences(leases), within=WITHIN)


def missing(leases: Iterable[Lease], found: Iterable[int]) -> tuple[int, ...]:
    """The shards of these leases that were not found by HELD."""
    return sql.missing(_fences(leases), set(found))


async def hold(tx: Tx, leases: Iterable[Lease], *, within: timedelta = WITHIN) -> FencedTx:
    """Lock the leases' fences until the transaction ends; FenceLost when one is not current.

    Locked with FOR KEY SHARE: any number of transactions may hold a fence at once and renewals do
    not wait for them, but nobody can be granted the shard before they end. The fence must be
    *equal*: after a failover that lost a grant, a holder's number can be higher than the table's,
    and it is stale all the same.
    """
    fences = _fences(leases)
    found = await sql.hold(tx, fences, within=within)
    if len(found) < len(fences):
        raise FenceLost(sql.missing(fences, found))
    return FencedTx.prove(tx, fences)


def _fences(leases: Iterable[Lease]) -> dict[int, int]:
    return {lease.shard: lease.fence for lease in leases}
