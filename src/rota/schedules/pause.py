"""Pauses one schedule, with a reason and an instant at which it resumes automatically."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidInput
from rota.schedules import schedule as schedules
from rota.schedules import update

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

MAX_REASON: Final = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


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
        check_future(until, await schedules.now(tx))
    return await update.pause(tx, tenant, schedule_id, reason=line, until=until)


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
