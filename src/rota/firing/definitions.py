"""Schedules as firing needs them, read once for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota import timers
from rota.firing import sql
from rota.firing.misfire import Rules
from rota.firing.plan import Contract
from rota.schedules.calendars import days
from rota.schedules.definition import decode
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.firing.plan import Due

MAX_KNOWN = 100_000


class Definitions:
    """The contracts of schedules that came due lately. A version never changes once written.

    A change of a calendar's days makes a new version of every schedule that has it.
    """

    def __init__(self, *, most: int = MAX_KNOWN) -> None:
        self._most = most
        self._known: dict[UUID, Contract] = {}

    def missing(self, dues: Iterable[Due]) -> list[UUID]:
        """The schedules to `load`, in these timers' versions."""
        return [due.schedule_id for due in dues if self.find(due) is None]

    def find(self, due: Due) -> Contract | None:
        """The timer's schedule at the timer's version; None when it is not known."""
        contract = self._known.get(due.schedule_id)
        return contract if contract is not None and contract.version == due.version else None

    async def load(self, tx: Tx, schedules: list[UUID]) -> dict[UUID, Exception]:
        """Read these in one query; returns those that cannot be understood, and why.

        One that has been edited or deleted meanwhile is simply not found: so has its timer been.
        """
        refused: dict[UUID, Exception] = {}
        for row in await tx.fetch(sql.CONTRACTS, schedules):
            try:
                contract = contract_of(row)
            except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
                refused[row["id"]] = error
            else:
                self._keep(contract)
        return refused

    def _keep(self, contract: Contract) -> None:
        self._known.pop(contract.schedule_id, None)
        while len(self._known) >= self._most:
            # The one known longest; whatever is due often comes right back.
            del self._known[next(iter(self._known))]
        self._known[contract.schedule_id] = contract


def contract_of(row: Row | Mapping[str, Any]) -> Contract:
    """A row of `schedules`, read for firing."""
    definition = decode(row["definition"])
    calendar = row["days"]
    trigger = definition.trigger(row["anchor_at"], calendar and days.decode(calendar))
    return Contract(
        schedule_id=row["id"],
        tenant_id=row["tenant_id"],
        version=row["version"],
        trigger=trigger,
        spread=timers.offset(row["id"], definition.spread_window),
        misfire=Rules(
            policy=definition.misfire_policy,
            cap=definition.misfire_cap,
            grace=definition.misfire_grace,
            window=definition.misfire_window,
        ),
        overlap=definition.overlap_policy,
        max_firings=trigger.max_firings if isinstance(trigger, Limited) else None,
        lane=definition.lane,
        host=definition.host,
        priority=definition.priority,
    )
