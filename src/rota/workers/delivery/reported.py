"""What a target says of its work later must not show the secrets it was sent either (S8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workers.delivery import secret_injection
from rota.workers.delivery.redaction import Hidden, text_without
from rota.workers.delivery.request import request_of

if TYPE_CHECKING:
    from rota.db import Tx
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.tenants.secrets import Vault


async def without_secrets(
    tx: Tx, vault: Vault, claim: Claim, schedule: Schedule | None, text: str
) -> str:
    """The text of a target's report, without the secrets that its request was filled with."""
    if schedule is None or schedule.definition.target_url is None:
        return text
    names = secret_injection.names_in(request_of(claim, schedule))
    if not names:
        return text
    found = await vault.values(tx, [(claim.tenant_id, name) for name in sorted(names)])
    hidden = Hidden.all(Hidden.of(value.reveal()) for value in found.values())
    return text_without(text, hidden)
