"""What others want of a worker: an end, a claim back, or to come and look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota.db import Cause
from rota.db.locks import CANCEL, CIRCUITS, QUEUE, RECALL

if TYPE_CHECKING:
    from rota.db import Wake
    from rota.workers.inflight import Inflight

WANTED: Final = (CANCEL, RECALL)
"""What somebody may want of a worker."""
CHANNELS: Final = (*WANTED, QUEUE, CIRCUITS)
"""What a worker's listener must listen to."""


def concerns_held(wake: Wake, inflight: Inflight) -> bool:
    """Whether somebody may want one of the claims held."""
    return wake.cause is Cause.MISSED or any(
        _is_about(each.payload, inflight) for each in wake.notices
    )


def _is_about(payload: str, inflight: Inflight) -> bool:
    try:
        return inflight.concerns(UUID(payload))
    except ValueError:
        return True  # not understood, so better look
