"""Where new claims go: to the delay queue until their instant, to the executor, or back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workers import sagas
from rota.workers.caller import SelectiveCaller
from rota.workers.inflight import InflightClaim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Caller
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.executor import Executor
    from rota.workers.hosts.host_limiter import HostLimiter
    from rota.workers.preparer import Preparer
    from rota.workers.shared import Shared


class Intake:
    """Puts new claims where they belong."""

    def __init__(
        self,
        shared: Shared,
        callers: Mapping[str, Caller],
        *,
        delay_queue: DelayQueue,
        preparer: Preparer,
        hosts: HostLimiter,
        release: ClaimRelease,
        executor: Executor,
    ) -> None:
        self._inflight = shared.inflight
        self._time = shared.time
        self._delay_queue = delay_queue
        self._hosts = hosts
        self._release = release
        self._executor = executor
        self._selective = {
            lane: each for lane, each in callers.items() if isinstance(each, SelectiveCaller)
        }
        self._preparer = preparer

    def hold(
        self, claims: Sequence[Claim], schedules: Mapping[UUID, Schedule | str], epoch: int
    ) -> None:
        """Take claims that were made in this epoch of the node's session."""
        now = self._time.now()
        due: list[InflightClaim] = []
        runnable: Schedule | None = None
        for each in claims:
            schedule = schedules[each.id]
            simple = each.saga is None and each.id not in self._inflight
            if runnable is not None and schedule is runnable and simple:
                # As the one before it, in which nothing was special.
                held = self._simply(each, runnable, epoch)
            else:
                held = self._hold_one(each, schedule, epoch)
                runnable = held.schedule if held is not None and each.host is None else None
            if held is None:
                continue
            if each.available_at <= now:
                due.append(held)
            else:
                self._delay_queue.add(held)
                self._preparer.add(held)
        if due:
            self._inflight.line_up(due)

    def _simply(self, each: Claim, schedule: Schedule, epoch: int) -> InflightClaim | None:
        held = InflightClaim(each, schedule, each.claimed_until, epoch)
        self._inflight.add(held)
        if each.cancel_reason is None:
            return held
        self._release.end(held, each.cancel_reason)
        return None

    def _hold_one(self, each: Claim, schedule: Schedule | str, epoch: int) -> InflightClaim | None:
        """None when it is not to wait for its instant here."""
        each, schedule = sagas.at_step(each, schedule)
        inflight = self._inflight
        earlier = inflight.get(each.id)
        if earlier is not None:
            self._come_back(earlier)
        if isinstance(schedule, str):
            self._release.end_claim(each, each.cancel_reason or schedule)
            return None
        held = InflightClaim(each, schedule, each.claimed_until, epoch)
        inflight.add(held)
        if each.cancel_reason is not None:
            self._release.end(held, each.cancel_reason)
            return None
        if self._is_for_others(held):
            return None
        return held if each.host is None or self._hosts.admission.admit_claim(held) else None

    def _is_for_others(self, held: InflightClaim) -> bool:
        """Whether it cannot be run here, and is on its way back for a worker that can."""
        caller = self._selective.get(held.claim.lane)
        if caller is None or caller.can_run(held.schedule):
            return False
        now = self._time.now()
        wait = caller.wait_for(held.claim, held.schedule, now)
        self._hosts.postponer.add(held, now + wait, "unknown task")
        return True

    def _come_back(self, earlier: InflightClaim) -> None:
        """It was rescued from us, or postponed by us a moment ago, and has been claimed again."""
        if earlier.postponed:
            self._inflight.remove(earlier)
        else:
            self._executor.lose(earlier)
