"""Taking claims into a worker's hands: those that are to wait for their instant, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workers import sagas
from rota.workers.held import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from rota.db.server_clock import DatabaseClock
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.agenda import Agenda
    from rota.workers.calls import Choosy, Early
    from rota.workers.holdings import Holdings
    from rota.workers.hosts.keeper import HostKeeper
    from rota.workers.letting_go import LettingGo


class Holding:
    """Puts new claims where they belong. `due` gets those that may begin, all of a pass at once."""

    def __init__(
        self,
        *,
        holdings: Holdings,
        agenda: Agenda,
        hosts: HostKeeper,
        letting_go: LettingGo,
        choosy: Mapping[str, Choosy],
        early: Mapping[str, Early],
        time: DatabaseClock,
        due: Callable[[list[Held]], None],
    ) -> None:
        self._holdings = holdings
        self._agenda = agenda
        self._hosts = hosts
        self._letting_go = letting_go
        self._choosy = choosy
        self._early = early
        self._time = time
        self._due = due

    def hold(self, claims: Sequence[Claim], schedules: Mapping[UUID, Schedule | str]) -> None:
        now = self._time.now()
        due: list[Held] = []
        runnable: Schedule | None = None
        for each in claims:
            schedule = schedules[each.id]
            simple = each.saga is None and each.id not in self._holdings
            if runnable is not None and schedule is runnable and simple:
                # As the one before it, in which nothing was special.
                held = self._simply(each, runnable)
            else:
                held = self._hold_one(each, schedule)
                runnable = held.schedule if held is not None and each.host is None else None
            if held is None:
                continue
            if each.available_at <= now:
                due.append(held)
            else:
                early = self._early.get(each.lane)
                if early is not None:
                    # A herd that is due at one instant then has the less to do at that.
                    held.call = early.prepare_early(held.claim, held.schedule)
                self._agenda.add(held)
        if due:
            self._due(due)

    def _simply(self, each: Claim, schedule: Schedule) -> Held | None:
        held = Held(each, schedule, each.claimed_until)
        self._holdings.add(held)
        if each.cancel_reason is None:
            return held
        self._letting_go.end(held, each.cancel_reason)
        return None

    def _hold_one(self, each: Claim, schedule: Schedule | str) -> Held | None:
        """None when it is not to wait for its instant here."""
        each, schedule = sagas.at_step(each, schedule)
        holdings = self._holdings
        earlier = holdings.get(each.id)
        if earlier is not None:
            self._come_back(earlier)
        if isinstance(schedule, str):
            self._letting_go.end_claim(each, each.cancel_reason or schedule)
            return None
        held = Held(each, schedule, each.claimed_until)
        holdings.add(held)
        if each.cancel_reason is not None:
            self._letting_go.end(held, each.cancel_reason)
            return None
        if self._is_for_others(held):
            return None
        return held if each.host is None or self._hosts.gate.admit_claim(held) else None

    def _is_for_others(self, held: Held) -> bool:
        """Whether it cannot be run here, and is on its way back for a worker that can."""
        choosy = self._choosy.get(held.claim.lane)
        if choosy is None or choosy.can_run(held.schedule):
            return False
        now = self._time.now()
        wait = choosy.wait_for(held.claim, held.schedule, now)
        self._hosts.postponer.add(held, now + wait, "unknown task")
        return True

    def _come_back(self, earlier: Held) -> None:
        """It was rescued from us, or postponed by us a moment ago, and has been claimed again."""
        if earlier.postponed:
            self._holdings.remove(earlier)
        else:
            self._letting_go.lose(earlier)
