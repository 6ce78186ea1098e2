"""How fast a tenant may create schedules (TN2), shared by all nodes and kept over restarts.

`create_rate` is an average: what is created is paid for at that rate, and whoever has paid may
create again. So ten thousand at once are taken, and are followed by a pause of ten thousand.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.errors import CallerError

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.tenant import Tenant

AHEAD: Final = timedelta(seconds=1)
"""So much may be owed: what a second allows may be created at once."""

# One row for each tenant with a rate, locked until the creation commits: two at once cannot both
# find that all is paid for, and a creation that fails costs nothing.
_SPEND: LiteralString = """
    INSERT INTO create_pace AS p (tenant_id, next_at)
    VALUES ($1, clock_timestamp() + $2::interval)
    ON CONFLICT (tenant_id) DO UPDATE
       SET next_at = greatest(p.next_at, clock_timestamp()) + $2::interval
     WHERE p.next_at < clock_timestamp() + $3::interval
 RETURNING true
"""

_OWED: LiteralString = """
    SELECT next_at - $2::interval - clock_timestamp() FROM create_pace WHERE tenant_id = $1
"""


_RESCALE: LiteralString = """
    UPDATE create_pace
       SET next_at = clock_timestamp() + (next_at - clock_timestamp()) * $2::float8
     WHERE tenant_id = $1 AND next_at > clock_timestamp()
"""

_CLEAR: LiteralString = "DELETE FROM create_pace WHERE tenant_id = $1"


class TooFast(CallerError):
    """More than the tenant's rate allows; `retry_after` is when it may go on."""

    def __init__(self, rate: float, retry_after: timedelta) -> None:
        self.retry_after = timedelta(seconds=max(1, math.ceil(retry_after.total_seconds())))
        super().__init__(
            f"expected at most {rate:g} new schedules a second, as the tenant may make; got more. "
            f"Try again in {self.retry_after.total_seconds():.0f} s"
        )


async def spend(tx: Tx, tenant: Tenant, schedules: int) -> None:
    """Count so many as created now; `TooFast` when earlier ones are not paid for yet."""
    rate = tenant.create_rate
    if rate is None:
        return
    cost = timedelta(seconds=schedules / rate)
    if await tx.fetch_value(_SPEND, tenant.id, cost, AHEAD):
        return
    owed: timedelta | None = await tx.fetch_value(_OWED, tenant.id, AHEAD)
    raise TooFast(rate, owed or timedelta())


async def change_rate(
    tx: Tx, tenant_id: UUID, *, before: float | None, after: float | None
) -> None:
    """Let what is still owed be paid at the new rate."""
    if before is not None and after is not None:
        await tx.execute(_RESCALE, tenant_id, before / after)
    else:
        await tx.execute(_CLEAR, tenant_id)
