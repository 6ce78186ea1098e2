"""What others want of a worker: an end, a claim back, or to come and look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota.db import Cause
from rota.queue.circuits import CHANNEL as CIRCUITS

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.db import Wake
    from rota.workers.holdings import Holdings

CANCEL: Final = "rota_cancel"
"""A firing is to be ended; its id."""
RECALL: Final = "rota_recall"
"""What has not begun of a schedule is wanted back; the schedule's id."""
QUEUE: Final = "rota_queue"
"""Something waits that nobody planned ahead, such as a manual run; its lane."""

WANTED: Final = (CANCEL, RECALL, QUEUE)
"""What somebody may want of a worker."""
CHANNELS: Final = (*WANTED, CIRCUITS)
"""What a worker's listener must listen to."""


def work_waits(wake: Wake, lanes: Collection[str]) -> bool:
    """Whether there may be something to claim that a poll would find later."""
    return wake.cause is Cause.MISSED or any(
        each.channel == QUEUE and each.payload in lanes for each in wake.notices
    )


def concerns_held(wake: Wake, holdings: Holdings) -> bool:
    """Whether somebody may want one of the claims held."""
    return wake.cause is Cause.MISSED or any(
        each.channel != QUEUE and _is_about(each.payload, holdings) for each in wake.notices
    )


def _is_about(payload: str, holdings: Holdings) -> bool:
    try:
        return holdings.concerns(UUID(payload))
    except ValueError:
        return True  # not understood, so better look
