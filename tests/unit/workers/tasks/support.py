"""Claims and schedules of tasks, without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from rota.queue.claim import Claim
from rota.schedules.definition import Definition
from rota.schedules.schedule import Schedule

NOW = datetime(2025, 3, 9, 14, tzinfo=UTC)


def schedule(job_type: str, **fields: Any) -> Schedule:
    definition = Definition(
        name=job_type, key=f"task:{job_type}", job_type=job_type, on_demand=True, **fields
    )
    return Schedule(
        id=UUID(int=1),
        tenant_id=UUID(int=2),
        key=definition.key,
        name=job_type,
        status="active",
        version=1,
        shard=0,
        anchor_at=NOW,
        definition=definition,
        created_at=NOW,
        updated_at=NOW,
    )


def claim(payload: str | None = None, *, attempt: int = 1, at: datetime = NOW) -> Claim:
    return Claim(
        id=uuid4(),
        schedule_id=UUID(int=1),
        tenant_id=UUID(int=2),
        version=1,
        scheduled_for=at,
        available_at=at,
        claimed_until=at + timedelta(seconds=30),
        began_at=at,
        attempt=attempt,
        priority=5,
        catch_up=False,
        triggered_by="enqueue",
        lane="default",
        fence=None,
        payload=payload,
    )
