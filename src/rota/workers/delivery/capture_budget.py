"""The byte budget of captures: what of a tenant's requests and responses is kept in a day.

Past it, attempts are kept as excerpts. Each worker counts in memory, and about once a second adds
what it has counted to the tenant's day in the database, in a statement of its own: the transaction
that records attempts never touches that row, so no worker waits for another there. What it gets
back is the sum over all workers. Together they may exceed a budget by what each of them keeps
between two counts: `UNCOUNTED` bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from rota.queue import capture_usage
from rota.targets.task import RESERVED_QUEUES
from rota.workers.delivery import capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.queue.capture_usage import Usage
    from rota.queue.complete import Settlement

MEGABYTE: Final = 1024 * 1024
UNCOUNTED: Final = 8 * MEGABYTE
"""Of all tenants together: with more than this it is counted at once."""
_COUNT_SECONDS: Final = 1.0

Key = tuple["date", "UUID"]


@dataclass(slots=True)
class _Account:
    """A tenant's day, as this worker knows it."""

    budget: int | None
    """None for no limit."""
    used: int
    """By all workers, when it was last counted."""
    own: int = 0
    """Kept here since."""
    own_cut: int = 0
    is_told: bool = False
    """Whether the database knows already that something was cut."""


class CaptureBudget:
    """Of one worker. `default` is the budget of tenants that have none of their own, in bytes; None
    for no limit."""

    def __init__(self, db: Database, clock: Clock, *, default: int | None) -> None:
        self._db = db
        self._clock = clock
        self._default = default
        self._accounts: dict[Key, _Account] = {}
        self._counted_at = float("-inf")

    async def admit(self, batch: Sequence[Settlement]) -> list[Settlement]:
        """The batch with excerpts in place of what its tenants have no budget for any more."""
        sized = [(each, _size(each), _key(each)) for each in batch]
        await self._ask({key for _, size, key in sized if size})
        return [self._admitted(*each) if each[1] else each[0] for each in sized]

    async def count(self) -> None:
        """Tell the database what was kept, when that is worth it."""
        open_ = {key: each for key, each in self._accounts.items() if each.own or each.own_cut}
        now = self._clock.monotonic()
        is_due = (
            now - self._counted_at >= _COUNT_SECONDS
            or sum(each.own for each in open_.values()) >= UNCOUNTED
            or any(each.own_cut and not each.is_told for each in open_.values())
        )
        if not open_ or not is_due:
            return
        self._counted_at = now
        counted = [(*key, each.own, each.own_cut) for key, each in sorted(open_.items())]
        # Not repeated: what may have been added already is better forgotten than added twice.
        for account in open_.values():
            account.used += account.own
            account.own = account.own_cut = 0
            account.is_told = True
        self._learn(await self._db.run(lambda tx: capture_usage.add(tx, counted)))

    def _admitted(self, each: Settlement, size: int, key: Key) -> Settlement:
        account = self._accounts.get(key)
        if account is None:  # the tenant is gone, and its history will be
            return each
        tried = each.tried
        assert tried is not None
        is_over = account.budget is not None and account.used + account.own + size > account.budget
        if is_over and size > capture.MAX_CUT:
            account.own_cut += 1
            each = msgspec.structs.replace(each, tried=capture.cut(tried))
            size = _size(each)
        account.own += size
        return each

    async def _ask(self, wanted: set[Key]) -> None:
        """Read the days that this worker has not seen yet."""
        new = sorted(wanted - self._accounts.keys())
        if not new:
            return
        newest = max(day for day, _ in new)
        self._accounts = {
            key: each
            for key, each in self._accounts.items()
            if (newest - key[0]).days <= 1 or each.own or each.own_cut
        }
        self._learn(await self._db.run(lambda tx: capture_usage.read(tx, new), read_only=True))

    def _learn(self, found: Iterable[Usage]) -> None:
        for each in found:
            own = None if each.budget_mb is None else each.budget_mb * MEGABYTE
            budget = self._default if own is None else own
            key = (each.day, each.tenant_id)
            known = self._accounts.setdefault(key, _Account(budget, each.bytes))
            known.budget, known.used, known.is_told = budget, each.bytes, each.cut > 0


def _key(each: Settlement) -> Key:
    return each.finished_at.date(), each.claim.tenant_id


def _size(each: Settlement) -> int:
    """What is kept of the attempt. A task's result is no capture: whoever waits for it needs it."""
    tried = each.tried
    if tried is None or (each.status == "succeeded" and each.claim.lane not in RESERVED_QUEUES):
        return 0
    said = len(tried.request or "") + len(tried.response_headers or "")
    return said + len(tried.response_body or b"")
