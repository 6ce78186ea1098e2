"""The end of every test of clusters and failures: `rota audit` has nothing to name."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from rota.history import slot_audit

if TYPE_CHECKING:
    from rota.db import Database


WITHOUT_SLOTS: Final[dict[str, Any]] = {"cron_expr": None, "on_demand": True}
"""Of schedules whose firings the test puts into the queue itself: nobody is to arm them."""


async def assert_all_explained(db: Database) -> None:
    """Every slot up to now has its outcome, is live, or has a timer that stands at it.

    Without the usual slack: what the timers have passed is recorded in the same transaction.
    """
    async with db.transaction(read_only=True) as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
    wrong = await slot_audit.unexplained(db, since=now - timedelta(days=2), slack=timedelta())
    assert wrong == [], "\n".join(
        f"{each.name}: {each.unexplained} of {each.expected} slots unexplained, {each.runs[:3]}"
        + (", and no timer" if each.has_no_timer else "")
        for each in wrong
    )
