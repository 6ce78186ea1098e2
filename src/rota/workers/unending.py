"""Attempts that were told to end and go on: told again, and then settled without them.

A coroutine may swallow its cancellation, and its claim would be kept for as long as it likes. After
a while its attempt is over, whatever it does; its hand stays taken until it has returned, so that
no more run at once than may.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rota.workers.events import AttemptUnending, about
from rota.workers.held import Phase

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from rota.events import Bus
    from rota.queue.claim import Claim
    from rota.workers.calls import Reply
    from rota.workers.held import Held, Stop
    from rota.workers.holdings import Holdings

WAITS: Final = (2.0, 1.0, 1.0)
"""Seconds. Told again after each but the last, which is the end. The first is for those that clean
up behind them. All together less than a worker that stops waits for what it has broken off."""


class Unending:
    """Tells attempts to end, and gives up on those that do not."""

    def __init__(
        self,
        worker: UUID,
        *,
        holdings: Holdings,
        bus: Bus,
        give_up: Callable[[Held, Reply | None], None],
    ) -> None:
        self._worker = worker
        self._holdings = holdings
        self._bus = bus
        self._give_up = give_up

    def break_off(self, held: Held, stop: Stop, reason: str | None = None) -> None:
        """End the call that is being made."""
        if held.break_off(stop, reason):
            self._wait(held, None, 0)

    def late(self, claim: Claim, reply: Reply) -> None:
        """Its time is up, and whoever makes the call has been told; `reply` is what that means."""
        held = self._holdings.get(claim.id)
        if held is not None and held.claim is claim:
            self._wait(held, reply, 0)

    def _wait(self, held: Held, reply: Reply | None, n: int) -> None:
        asyncio.get_running_loop().call_later(WAITS[n], self._look, held, reply, n + 1)

    def _look(self, held: Held, reply: Reply | None, n: int) -> None:
        if held.phase is not Phase.CALLING:
            return
        if n < len(WAITS):
            if held.task is not None:
                held.task.cancel()
            self._wait(held, reply, n)
            return
        why = held.stop.value if held.stop is not None else "timed out"
        self._bus.publish(AttemptUnending(**about(held.claim, self._worker), told=why))
        self._give_up(held, reply)
