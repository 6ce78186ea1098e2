"""Opening, telling and closing alerts. Whoever notices trouble calls `open_`; the rest follows.

    opened = await alerts.open_(tx, "overdue", [Trouble(tenant_id=…, subject=…, detail=…)])
    await alerts.close(tx, ended)

All of it is one transaction of the engine: what was noticed, the alert and what is to be said of it
are there together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.tenants import sql as tenants_sql
from rota.watch import alerts_sql as sql
from rota.watch import outbox
from rota.watch.events import (
    AlertClosed,
    AlertOpened,
    InstallationAlerted,
    InstallationRecovered,
)
from rota.watch.kinds import KINDS
from rota.watch.pacing import REPEATS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.watch.alert import Alert

KEEP: Final = timedelta(days=30)
"""How long an alert that is over can be looked at."""

_BATCH: Final = 500
_MOST_DETAIL: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What somebody noticed."""

    subject: str
    detail: str
    tenant_id: UUID | None = None
    """None when it is the installation's."""
    schedule_id: UUID | None = None
    count: int = 1
    seen_at: datetime | None = None
    """When it happened; now without one."""


async def open_(tx: Tx, kind: str, troubles: Collection[Trouble]) -> list[AlertOpened]:
    """Open an alert for each, or add to the one that is open; what was opened is returned."""
    assert kind in KINDS, kind
    if not troubles:
        return []
    now = await tenants_sql.now(tx)
    rows = await tx.fetch(
        sql.OPEN,
        kind,
        [ids.new(at=now) for _ in troubles],
        [each.tenant_id for each in troubles],
        [each.subject for each in troubles],
        [each.schedule_id for each in troubles],
        [each.detail[:_MOST_DETAIL] for each in troubles],
        [each.count for each in troubles],
        [each.seen_at for each in troubles],
    )
    opened = InstallationAlerted if KINDS[kind].is_installation else AlertOpened
    return [
        opened(
            alert_id=row["id"],
            tenant_id=row["tenant_id"],
            kind=kind,
            subject=row["subject"],
            detail=row["detail"],
        )
        for row in rows
        if row["fresh"]
    ]


async def touch(tx: Tx, kind: str, troubles: Collection[Trouble]) -> None:
    """Note that these open ones go on."""
    if troubles:
        await tx.execute(
            sql.TOUCH,
            kind,
            [each.tenant_id for each in troubles],
            [each.subject for each in troubles],
            [each.detail[:_MOST_DETAIL] for each in troubles],
        )


async def are_open(tx: Tx, *kinds: str) -> list[Alert]:
    """The open ones of these kinds."""
    return [sql.alert(row) for row in await tx.fetch(sql.OPEN_OF_KIND, list(kinds))]


async def close(tx: Tx, alert_ids: Collection[UUID]) -> list[AlertClosed]:
    """End them, and tell those who had been told of the trouble that it is over."""
    if not alert_ids:
        return []
    done = [row["id"] for row in await tx.fetch(sql.CLOSE, list(alert_ids))]
    ended = [sql.alert(row) for row in await tx.fetch(sql.BY_ID, done)]
    now = await tenants_sql.now(tx)
    told = [each for each in ended if each.told and not KINDS[each.kind].is_notice]
    await outbox.say(tx, told, recovered=True, at=now)
    return [
        (InstallationRecovered if each.tenant_id is None else AlertClosed)(
            alert_id=each.id, tenant_id=each.tenant_id, kind=each.kind, subject=each.subject
        )
        for each in ended
    ]


async def tell(tx: Tx) -> int:
    """Say what there is to say about open alerts, and may be said by now; how many it were."""
    now = await tenants_sql.now(tx)
    due = [sql.alert(row) for row in await tx.fetch(sql.UNTOLD, _BATCH, list(REPEATS))]
    await outbox.say(tx, due, recovered=False, at=now)
    if due:
        await tx.execute(sql.TOLD, [each.id for each in due])
    return len(due)


async def mark_told(tx: Tx, alert_ids: Collection[UUID]) -> None:
    """These were told of in another way: only what comes after is said, and their end."""
    await tx.execute(sql.TOLD, list(alert_ids))


async def listed(
    tx: Tx,
    tenant_id: UUID,
    *,
    installation: bool,
    open_: bool | None,
    kind: str | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> Sequence[Alert]:
    """The tenant's alerts, the newest first; with the installation's for whoever runs it."""
    at, id_ = before or (None, None)
    rows = await tx.fetch(sql.LIST, tenant_id, installation, open_, kind, at, id_, limit)
    return [sql.alert(row) for row in rows]


async def forget(tx: Tx) -> None:
    """Drop what has been over for long."""
    await tx.execute(sql.FORGET, KEEP)
