"""Letting go of claims that will not be begun here: ended, put back, or somebody else's by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue.finish import Settlement
from rota.queue.states import RECALLS
from rota.workers import sagas
from rota.workers.events import ClaimLost, about
from rota.workers.held import Phase, Stop

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.queue.claim import Claim
    from rota.queue.states import Status
    from rota.schedules.schedule import Schedule
    from rota.workers.agenda import Agenda
    from rota.workers.claimer import Claimer
    from rota.workers.finisher import Finisher
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings
    from rota.workers.unending import Unending


class LettingGo:
    """The ways in which a claim leaves a worker's hands without an outcome of its own."""

    def __init__(
        self,
        worker: UUID,
        *,
        holdings: Holdings,
        agenda: Agenda,
        finisher: Finisher,
        claimer: Claimer,
        unending: Unending,
        time: DatabaseClock,
        bus: Bus,
    ) -> None:
        self._worker = worker
        self._holdings = holdings
        self._agenda = agenda
        self._finisher = finisher
        self._claimer = claimer
        self._unending = unending
        self._time = time
        self._bus = bus

    def end(self, held: Held, reason: str) -> None:
        """Record the end of what has not begun."""
        held.phase = Phase.SETTLING
        self._agenda.remove(held)
        self.end_claim(held.claim, reason, held.schedule)

    def end_claim(self, claim: Claim, reason: str, schedule: Schedule | None = None) -> None:
        """The same for a claim that was not even held: taken back, or cancelled in time."""
        # What was tried before did not pass by unnoticed: it was broken off.
        skipped = reason in RECALLS and claim.attempt == 1
        self._settle(claim, "skipped" if skipped else "cancelled", reason, schedule)

    def _settle(self, claim: Claim, status: Status, reason: str, schedule: Schedule | None) -> None:
        settlement = Settlement(
            claim=claim,
            started_at=None,
            finished_at=self._time.now(),
            status=status,
            reason=reason,
        )
        self._finisher.add(sagas.carry_on(settlement, schedule))

    def give_up(self, held: Held, reason: str) -> None:
        """Record as dead what could not be begun in time."""
        held.phase = Phase.SETTLING
        self._agenda.remove(held)
        self._settle(held.claim, "dead", reason, held.schedule)

    def put_back(self, held: Held) -> None:
        """Let go of a claim whose schedule was edited: claimed again, it is of the new version."""
        held.phase = Phase.SETTLING
        self._agenda.remove(held)
        self._holdings.remove(held)
        self._claimer.put_back()

    def lose(self, held: Held) -> None:
        """Let go of a claim that is somebody else's now."""
        if held.phase is Phase.CALLING and held.stop is None:
            self._unending.break_off(held, Stop.LOST)
            return
        self._agenda.remove(held)
        self._holdings.remove(held)
        held.phase = Phase.SETTLING
        self._bus.publish(ClaimLost(**about(held.claim, self._worker)))
