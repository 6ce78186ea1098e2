"""Claims and schedules for tests that need no database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rota import ids
from rota.queue.claim import Claim
from rota.schedules.definition import Definition
from rota.schedules.schedule import Schedule
from rota.workers.inflight import InflightClaim

if TYPE_CHECKING:
    from rota.schedules.schedule import Status
    from rota.workers.caller import Reply

SLOT = datetime(2026, 3, 9, 13, tzinfo=UTC)
SCHEDULE_ID = UUID("019cd1e3-0000-7000-8000-000000000001")
TENANT_ID = UUID("019cd1e3-0000-7000-8000-000000000002")
WORKER = UUID("019cd1e3-0000-7000-8000-000000000003")


def schedule(*, status: Status = "active", version: int = 1, **fields: Any) -> Schedule:
    usual: dict[str, Any] = {"name": "n", "key": "k", "target_url": "http://x.example/"}
    if not {"interval", "run_at", "rrule", "text"} & fields.keys():
        usual["cron_expr"] = "0 * * * *"
    return Schedule(
        id=SCHEDULE_ID,
        tenant_id=TENANT_ID,
        key="k",
        name="n",
        status=status,
        version=version,
        shard=0,
        anchor_at=SLOT - timedelta(days=5),
        definition=Definition(**usual | fields),
        created_at=SLOT - timedelta(days=5),
        updated_at=SLOT - timedelta(days=5),
    )


def claim(slot: datetime = SLOT, **fields: Any) -> Claim:
    usual: dict[str, Any] = {
        "id": ids.firing_id(SCHEDULE_ID, slot),
        "schedule_id": SCHEDULE_ID,
        "tenant_id": TENANT_ID,
        "version": 1,
        "scheduled_for": slot,
        "available_at": slot,
        "claimed_until": slot + timedelta(seconds=30),
        "began_at": slot,
        "attempt": 1,
        "priority": 5,
        "catch_up": False,
        "triggered_by": "schedule",
        "lane": "http",
        "fence": 7,
    }
    return Claim(**usual | fields)


def held(slot: datetime = SLOT, **fields: Any) -> InflightClaim:
    each = claim(slot, **fields)
    return InflightClaim(each, schedule(), each.claimed_until)


class Permission:
    """A `workers.caller.Begin` that answers as it is told, in turn; the last answer stays."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.overdue_replies: list[Reply] = []

    def __call__(self) -> bool:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def overdue(self, reply: Reply) -> None:
        self.overdue_replies.append(reply)
