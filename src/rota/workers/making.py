"""What a hand does with a claim: makes its attempt, and hands on what came of it.

Whatever happens, the claim gets an outcome or is let go of: one that is neither would be kept by
every heartbeat, for ever.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from rota.db.server_clock import DatabaseClock
    from rota.queue.finish import Settlement
    from rota.workers.attempt import Attempts
    from rota.workers.calls import Caller, Reply
    from rota.workers.finisher import Finisher
    from rota.workers.hands import Hands
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings
    from rota.workers.hosts.keeper import HostKeeper
    from rota.workers.letting_go import LettingGo


class Making:
    """Makes the attempts of a worker's hands. `callers` has what to do for each lane."""

    hands: Hands
    """Set by whoever makes both: each needs the other."""

    def __init__(
        self,
        callers: Mapping[str, Caller],
        *,
        attempts: Attempts,
        holdings: Holdings,
        hosts: HostKeeper,
        finisher: Finisher,
        letting_go: LettingGo,
        time: DatabaseClock,
        troubled: Callable[[str, Exception], None],
    ) -> None:
        self._callers = callers
        self._attempts = attempts
        self._holdings = holdings
        self._hosts = hosts
        self._finisher = finisher
        self._letting_go = letting_go
        self._time = time
        self._troubled = troubled

    async def attempt(self, held: Held, now: datetime) -> datetime:
        """Make it; returns the instant at which it was over, and its hand is free for another."""
        try:
            settlement = await self._attempts.make(held, self._callers[held.claim.lane], now)
        except asyncio.CancelledError as error:
            # By nobody of ours while the worker goes on: a task that cancels the one it runs in.
            if self.hands.closed:
                raise
            settlement = self._attempts.fail(held, now, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours is the attempt's failure
            settlement = self._break_down(held, now, error)
        finally:
            held.task = None
            if held.lingers is None:
                self._free_hand(held)
            else:
                held.lingers.add_done_callback(lambda _: self._come_free(held))
        if held.given_up:
            return self._time.now()
        if settlement is None:
            self._letting_go.lose(held)
            return self._time.now()
        self._finisher.add(settlement)
        return settlement.finished_at

    def give_up(self, held: Held, reply: Reply | None) -> None:
        """Its call will not end: settle it, and leave it and its hand alone until it does."""
        if held.task is not None:
            self.hands.leave(held.task)
        try:
            settlement = self._attempts.give_up(held, reply)
        except Exception as error:  # noqa: BLE001 - as above
            settlement = self._break_down(held, self._time.now(), error)
        if settlement is None:
            self._letting_go.lose(held)
        else:
            self._finisher.add(settlement)

    def _break_down(self, held: Held, now: datetime, error: Exception) -> Settlement | None:
        self._troubled("attempt", error)
        return self._attempts.fail(held, now, error)

    def _free_hand(self, held: Held) -> None:
        if self._holdings.ended(held):
            self.hands.wanted()
        if held.claim.host is not None:
            self._hosts.ended(held.claim.host)

    def _come_free(self, held: Held) -> None:
        """A function that went on after its attempt was over has returned."""
        self._free_hand(held)
        self.hands.wanted()
