"""The executor: takes what is ready, runs its attempt, and passes on the outcome.

Whatever happens, a claim gets an outcome or is let go of: one that is neither would be kept alive
by every heartbeat, for ever.

An attempt that was told to end and goes on is stuck: a coroutine may swallow its cancellation. It
is told again, and then settled without it. Its slot stays in use until it has returned, so that no
more run at once than may.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rota.workers.attempt import Attempts
from rota.workers.caller import Pooled
from rota.workers.events import AttemptStuck, WorkerTroubled, about
from rota.workers.executor_pool import ExecutorPool
from rota.workers.inflight import Phase, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.queue.complete import Settlement
    from rota.workers.caller import Caller, Reply
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.completer import Completer
    from rota.workers.hosts.host_limiter import HostLimiter
    from rota.workers.inflight import InflightClaim
    from rota.workers.right_to_begin import RightToBegin
    from rota.workers.shared import Shared

STUCK_WAITS: Final = (2.0, 1.0, 1.0)
"""Seconds. Told again after each but the last, which is the end. The first is for those that clean
up behind them. All together less than a worker that stops waits for what it has cancelled."""


class Executor(ExecutorPool):
    """Runs the attempts of a worker. `callers` makes the calls of each lane."""

    def __init__(
        self,
        shared: Shared,
        callers: Mapping[str, Caller],
        *,
        right: RightToBegin,
        hosts: HostLimiter,
        completer: Completer,
        release: ClaimRelease,
        has_tokens: bool,
    ) -> None:
        super().__init__(inflight=shared.inflight, time=shared.time)
        self._worker = shared.worker
        self._bus = shared.bus
        self._callers = callers
        self._pools = [each for each in callers.values() if isinstance(each, Pooled)]
        self._attempts = Attempts(shared, hosts=hosts, has_tokens=has_tokens)
        self._right = right
        self._hosts = hosts
        self._completer = completer
        self._release = release
        self.stopping = False
        """Whether nothing more is started."""

    def set_others(self, count: int) -> None:
        """How many tenants there are beyond the first: more than none, and each has its share."""
        if count != self._inflight.others:
            self._inflight.others = count
            for each in self._pools:
                each.others = count

    # Starting and running

    def take(self, now: datetime) -> InflightClaim | None:
        hosts, inflight = self._hosts, self._inflight
        # Nothing more while too much waits to be recorded: the completer says when there is room.
        while not (self.stopping or self._completer.full):
            if inflight.waiting and not self._right.is_confirmed():
                return None
            held = inflight.next_due(hosts.admit)
            if held is None:
                return None
            host = held.claim.host
            if not self._right.has(held):
                # Frozen or cut off for too long: somebody else may be about to begin it.
                self._release.withhold(held)
            elif host is None or hosts.admission.admit_start(held, now):
                held.phase = Phase.RUNNING
                if host is not None:
                    hosts.began(host)
                return held
            inflight.ended(held)
        return None

    async def attempt(self, held: InflightClaim, now: datetime) -> datetime:
        try:
            begin = _Begin(self, self._right, held)
            caller = self._callers[held.claim.lane]
            settlement = await self._attempts.make(held, caller, now, begin)
        except asyncio.CancelledError as error:
            # By nobody of ours while the worker goes on: a task that cancels the one it runs in.
            if self.closed:
                raise
            settlement = self._attempts.fail(held, now, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours is the attempt's failure
            settlement = self._break_down(held, now, error)
        finally:
            held.task = None
            if held.lingers is None:
                self._free_slot(held)
            else:
                held.lingers.add_done_callback(lambda _: self._returned(held))
        if held.given_up:
            return self._time.now()
        if held.withheld:
            self._release.withhold(held)
            return self._time.now()
        if settlement is None:
            self._release.lose(held)
            return self._time.now()
        self._completer.add(settlement)
        return settlement.finished_at

    def _break_down(
        self, held: InflightClaim, now: datetime, error: Exception
    ) -> Settlement | None:
        text = f"{type(error).__name__}: {error}"
        self._bus.publish(WorkerTroubled(worker=self._worker, part="attempt", error=text))
        return self._attempts.fail(held, now, error)

    def _free_slot(self, held: InflightClaim) -> None:
        self._inflight.ended(held)
        if held.claim.host is not None:
            self._hosts.ended(held.claim.host)

    def _returned(self, held: InflightClaim) -> None:
        """A function that went on after its attempt was over has returned."""
        self._free_slot(held)
        self._inflight.start_wake.set()

    # Ending attempts

    def lose(self, held: InflightClaim) -> None:
        """Let go of a claim that is somebody else's now; end its attempt if that is under way."""
        if held.phase is Phase.RUNNING and held.stop is None:
            self.break_off(held, Stop.LOST)
        else:
            self._release.lose(held)

    def break_off(self, held: InflightClaim, stop: Stop, reason: str | None = None) -> None:
        """End the call that is being made."""
        if held.break_off(stop, reason):
            self._check_stuck_later(held, None, 0)

    def overdue(self, held: InflightClaim, reply: Reply) -> None:
        """Its time is up, and its call has been cancelled; `reply` is what that means."""
        if self._inflight.get(held.claim.id) is held:
            self._check_stuck_later(held, reply, 0)

    def _check_stuck_later(self, held: InflightClaim, reply: Reply | None, n: int) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(STUCK_WAITS[n], self._check_stuck, held, reply, n + 1)

    def _check_stuck(self, held: InflightClaim, reply: Reply | None, n: int) -> None:
        if held.phase is not Phase.RUNNING:
            return
        if n < len(STUCK_WAITS):
            if held.task is not None:
                held.task.cancel()
            self._check_stuck_later(held, reply, n)
            return
        why = held.stop.value if held.stop is not None else "timed out"
        self._bus.publish(AttemptStuck(**about(held.claim, self._worker), told=why))
        self._give_up(held, reply)

    def _give_up(self, held: InflightClaim, reply: Reply | None) -> None:
        """Settle it, and abandon its task until that returns."""
        if held.task is not None:
            self.abandon(held.task)
        try:
            settlement = self._attempts.give_up(held, reply)
        except Exception as error:  # noqa: BLE001 - as above
            settlement = self._break_down(held, self._time.now(), error)
        if settlement is None:
            self._release.lose(held)
        else:
            self._completer.add(settlement)


class _Begin:
    """A `workers.caller.Begin` of one attempt."""

    __slots__ = ("_executor", "_held", "_right")

    def __init__(self, executor: Executor, right: RightToBegin, held: InflightClaim) -> None:
        self._executor = executor
        self._right = right
        self._held = held

    def __call__(self) -> bool:
        return self._right.has(self._held)

    def overdue(self, reply: Reply) -> None:
        self._executor.overdue(self._held, reply)
