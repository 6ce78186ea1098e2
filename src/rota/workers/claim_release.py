"""Letting go of claims that will not be begun here: ended, put back, or somebody else's by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue.complete import Settlement
from rota.queue.states import WITHDRAW_REASONS
from rota.workers import sagas
from rota.workers.events import ClaimLost, ClaimWithheld, about
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from rota.queue.claim import Claim
    from rota.queue.states import Status
    from rota.schedules.schedule import Schedule
    from rota.workers.completer import Completer
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared


class ClaimRelease:
    """The ways in which a claim leaves the worker without an outcome of its own."""

    def __init__(
        self,
        shared: Shared,
        *,
        delay_queue: DelayQueue,
        completer: Completer,
    ) -> None:
        self._worker = shared.worker
        self._inflight = shared.inflight
        self._time = shared.time
        self._bus = shared.bus
        self._delay_queue = delay_queue
        self._completer = completer

    def end(self, held: InflightClaim, reason: str) -> None:
        """Record the end of what has not begun."""
        held.phase = Phase.COMPLETING
        self._delay_queue.remove(held)
        self.end_claim(held.claim, reason, held.schedule)

    def end_claim(self, claim: Claim, reason: str, schedule: Schedule | None = None) -> None:
        """The same for a claim that was not even held: taken back, or cancelled in time."""
        # What was tried before did not pass by unnoticed: it was broken off.
        skipped = reason in WITHDRAW_REASONS and claim.attempt == 1
        self._settle(claim, "skipped" if skipped else "cancelled", reason, schedule)

    def _settle(self, claim: Claim, status: Status, reason: str, schedule: Schedule | None) -> None:
        settlement = Settlement(
            claim=claim,
            started_at=None,
            finished_at=self._time.now(),
            status=status,
            reason=reason,
        )
        self._completer.add(sagas.carry_on(settlement, schedule))

    def give_up(self, held: InflightClaim, reason: str) -> None:
        """Record as dead what could not be begun in time."""
        held.phase = Phase.COMPLETING
        self._delay_queue.remove(held)
        self._settle(held.claim, "dead", reason, held.schedule)

    def put_back(self, held: InflightClaim) -> None:
        """Give back a claim that was not begun. Claimed again, it is of the schedule's newest
        version, and of this epoch of the session."""
        held.phase = Phase.COMPLETING
        self._delay_queue.remove(held)
        self._inflight.remove(held)
        self._inflight.claim_wake.dropped()

    def withhold(self, held: InflightClaim) -> None:
        """The same, and say so: its right to begin has ended, for whatever reason."""
        self.put_back(held)
        self._bus.publish(ClaimWithheld(**about(held.claim, self._worker)))

    def lose(self, held: InflightClaim) -> None:
        """Let go of a claim that is somebody else's now, and is not being attempted here."""
        self._delay_queue.remove(held)
        self._inflight.remove(held)
        held.phase = Phase.COMPLETING
        self._bus.publish(ClaimLost(**about(held.claim, self._worker)))
