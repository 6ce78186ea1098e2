"""Pausing one schedule with a word on why, and until an instant at which it resumes by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, LiteralString

from rota.errors import InvalidInput
from rota.schedules import changing, sql
from rota.schedules.errors import NoSuchSchedule
from rota.tenants import administer

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

MAX_REASON: Final = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")

_NOTE: LiteralString = """
    UPDATE schedules
       SET status_reason = $2, paused_until = $3, updated_at = clock_timestamp()
     WHERE id = $1 AND status = 'paused'
"""

# Those that were paused together are resumed together (`together.resume_over`).
_OVER: LiteralString = """
    SELECT id, tenant_id
      FROM schedules
     WHERE status = 'paused' AND paused_until <= (SELECT clock_timestamp())
       AND NOT paused_together
     ORDER BY paused_until
     LIMIT 1
"""

_IS_OVER: LiteralString = """
    SELECT status = 'paused' AND NOT paused_together AND paused_until <= clock_timestamp()
      FROM schedules WHERE id = $1
"""


async def pause(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    *,
    reason: str | None = None,
    until: datetime | None = None,
) -> Schedule:
    """No firing from now on: until it is resumed, or until the instant.

    One that is paused already gets the new reason and the new end; without either, it has no end.
    """
    line = None if reason is None else one_line("reason", reason, MAX_REASON)
    if until is not None:
        check_future(until, await sql.now(tx))
    schedule = await changing.pause(tx, tenant, schedule_id)
    if line is not None or until is not None:
        await tx.execute(_NOTE, schedule_id, line, until)
    return schedule


async def resume_next_over(tx: Tx) -> bool | None:
    """Resume one, of whatever tenant, whose time is up; None when there is none, False when
    somebody else was faster.

    One in a transaction: its timer is locked before it, as for any other change of one.
    """
    row = await tx.fetch_row(_OVER)
    if row is None:
        return None
    tenant = await administer.find(tx, row["tenant_id"])
    try:
        await changing.hold(tx, row["tenant_id"], row["id"])
    except NoSuchSchedule:
        return False
    # Somebody may have resumed it while we waited, or given it another end.
    if tenant is None or not await tx.fetch_value(_IS_OVER, row["id"]):
        return False
    await changing.resume(tx, tenant, row["id"])
    return True


def one_line(field: str, text: str, most: int) -> str:
    """The text without blanks around it; refused unless it is one line of some characters."""
    text = text.strip()
    if not 1 <= len(text) <= most or _CONTROL.search(text):
        wrong = f"Invalid {field}: expected one line of 1 to {most} characters"
        raise InvalidInput(wrong, field=field)
    return text


def check_future(until: datetime, now: datetime) -> None:
    """Refuse an end that is none: it would be over at once."""
    if until.tzinfo is None:
        wrong = "expected an instant with an offset, such as …Z, got none"
    elif until <= now:
        wrong = f"expected an instant to come, got {until.isoformat()}"
    else:
        return
    raise InvalidInput(f"Invalid until: {wrong}", field="until")
