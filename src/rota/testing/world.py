"""The schedules of a test and what waits of them, moved by the engine's own rules.

Nothing here calls a function: `step` says which attempt is to be made, and `settle` is told what
came of it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota import ids
from rota.errors import CallerError
from rota.firing.plan import plan
from rota.history.outcomes import Outcome
from rota.queue import dependents
from rota.queue.overlap import Admission, Live
from rota.queue.overlap import Entry as Entering
from rota.testing import settling
from rota.testing.agenda import BEGIN, END, TIMER, Agenda
from rota.testing.firing import Entry, Firing, entry_of
from rota.testing.records import NotRun

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.firing.plan import Plan
    from rota.queue.complete import Settlement
    from rota.queue.enqueue import EnqueueRequest
    from rota.queue.overlap import State
    from rota.queue.states import Status
    from rota.testing.records import Run
    from rota.testing.settling import Settled

_NOTHING: Final = timedelta()


class World:
    """All that the engine would keep in its database."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.runs: list[Run] = []
        self.not_run: list[NotRun] = []
        self.live: dict[UUID, Firing] = {}
        self.ended: dict[UUID, Outcome] = {}
        self._followers: defaultdict[str, list[Entry]] = defaultdict(list)
        self._agenda = Agenda()
        self._order = itertools.count()

    def add(self, given: Mapping[str, Any], now: datetime) -> Entry:
        """A schedule, made now; a `CallerError` for a key that is in use."""
        entry = entry_of(given, now)
        if entry.key in self.entries:
            raise CallerError(f"expected a key of its own, got {entry.key!r}, which is in use")
        self.entries[entry.key] = entry
        after = entry.schedule.definition.after
        if after is not None:
            self._followers[after.key].append(entry)
        self._arm(entry)
        return entry

    # Time

    def next_at(self) -> datetime | None:
        """When something happens next; None when nothing will."""
        return self._agenda.next_at()

    def step(self, now: datetime) -> Firing | None:
        """Let the next thing happen, which `next_at` has said to be due: the firing whose attempt
        is to be made, if it is one, and None for anything else."""
        phase, what = self._agenda.pop()
        if isinstance(what, Entry):
            self._fire(what, now)
            return None
        if phase == END:
            pending, what.pending = what.pending, None
            assert pending is not None
            self.settle(what, pending, now)
            return None
        what.attempt += 1
        what.began_at = what.began_at or now
        what.state = "running"
        return what

    # Entering

    def enter(self, order: EnqueueRequest, now: datetime) -> list[Firing]:
        """What somebody enqueues; of a key that is live, the one that is."""
        entry = self.entries[order.task]
        at = max(now, order.at or now + (order.delay or _NOTHING))
        same = [f for f in entry.live if order.key is not None and f.unique_key == order.key]
        if same:
            return same
        return [
            self._enter(
                entry,
                id_=ids.new(at=now),
                scheduled_for=at,
                available_at=at,
                triggered_by="enqueue",
                payload=None if each is None or each == b"null" else each.decode(),
                unique_key=order.key,
                priority=order.priority,
            )
            for each in order.payloads
        ]

    def trigger(self, entry: Entry, payload: Any, now: datetime) -> UUID:
        """A run that somebody asks for, paused or not; the overlap policy counts it like any."""
        id_ = ids.new(at=now)
        text = None if payload is None else msgspec.json.encode(payload).decode()
        row = {**entry.row(), "status": "active"}
        self._ask(entry, row, id_=id_, slot=now, now=now, triggered_by="api", payload=text)
        return id_

    def _ask(
        self,
        entry: Entry,
        row: Mapping[str, Any],
        *,
        id_: UUID,
        slot: datetime,
        now: datetime,
        triggered_by: str,
        payload: str | None,
    ) -> None:
        """A run that no timer fires: it enters, or is skipped, by the overlap policy."""
        if row["status"] == "active":
            way, reason = self._admit(entry, now)
        else:
            way, reason = "skipped", "paused"
        if way == "skipped":
            self._not_run(entry, slot, "skipped", reason or "")
            self.ended[id_] = Outcome(
                id=id_,
                status="skipped",
                reason=reason,
                attempt=0,
                finished_at=now,
                body=None,
                error=None,
            )
            return
        self._enter(
            entry,
            id_=id_,
            scheduled_for=slot,
            available_at=max(slot, now),
            triggered_by=triggered_by,
            blocked=way == "blocked",
            payload=payload,
        )

    def _admit(self, entry: Entry, now: datetime) -> tuple[State, str | None]:
        policy, live = entry.schedule.definition.overlap_policy, Live(count=entry.count_live(now))
        if Admission(policy, live).replaces:
            self._replace(entry, now)
            live = replace(live, is_running=entry.count_live(now) > 0)
        return Admission(policy, live).next()

    def _enter(
        self,
        entry: Entry,
        *,
        id_: UUID,
        scheduled_for: datetime,
        available_at: datetime,
        triggered_by: str,
        blocked: bool = False,
        payload: str | None = None,
        catch_up: bool = False,
        unique_key: str | None = None,
        priority: int | None = None,
    ) -> Firing:
        firing = Firing(
            id=id_,
            entry=entry,
            scheduled_for=scheduled_for,
            available_at=available_at,
            state="blocked" if blocked else "waiting",
            order=next(self._order),
            priority=entry.snapshot.priority if priority is None else priority,
            triggered_by=triggered_by,
            payload=payload,
            catch_up=catch_up,
            unique_key=unique_key,
        )
        entry.live.append(firing)
        self.live[id_] = firing
        if not blocked:
            self._agenda.note(available_at, BEGIN, firing)
        return firing

    # Firing

    def _arm(self, entry: Entry) -> None:
        if entry.slot is not None:
            self._agenda.note(entry.slot + entry.spread, TIMER, entry)

    def _fire(self, entry: Entry, now: datetime) -> None:
        found = plan(entry.due(), entry.snapshot, now=now)
        assert found is not None, "it is due: there is nothing to look at later"
        if found.entry is Entering.REPLACE:
            self._replace(entry, now)
        waits = found.entry in {Entering.BLOCKED, Entering.REPLACE}
        blocked = waits and entry.count_live(now) > 0
        for number, slot in enumerate(found.fire):
            self._enter(
                entry,
                id_=ids.firing_id(entry.schedule.id, slot),
                scheduled_for=slot,
                available_at=slot + entry.spread,
                triggered_by="schedule",
                blocked=blocked or (found.chained and number > 0),
                catch_up=found.catch_up,
            )
        self._record(entry, found)
        entry.fired += len(found.fire)
        entry.slot = found.following
        self._arm(entry)

    def _record(self, entry: Entry, found: Plan) -> None:
        self.not_run += [
            NotRun(
                schedule=entry.key,
                first=each.first,
                last=each.last,
                count=each.count,
                status=each.status,
                reason=each.reason,
            )
            for each in found.records
        ]

    def _replace(self, entry: Entry, now: datetime) -> None:
        for each in list(entry.live):
            if each.is_reached(now):
                self.cancel(each, "overlap", now)

    # Ending

    def called(self, firing: Firing, settled: Settled, now: datetime) -> None:
        """Its function has been called; it ends at once, or when its time has passed."""
        if settled.settlement.finished_at <= now:
            self.settle(firing, settled, now)
            return
        firing.pending = settled
        self._agenda.note(settled.settlement.finished_at, END, firing)

    def settle(self, firing: Firing, settled: Settled, now: datetime) -> None:
        """What becomes of it: an end, another attempt, or another step."""
        settlement, step = settled.settlement, settled.settlement.step
        if settled.run is not None:
            self.runs.append(settled.run)
        if step is not None and step.state is not None:
            firing.saga = step.state
        if settlement.status is not None:
            self._end(firing, settlement, settlement.status, now)
            return
        firing.state = "waiting" if settlement.retry_at is None else "retrying"
        firing.available_at = settlement.retry_at or settlement.finished_at
        self._agenda.note(firing.available_at, BEGIN, firing)

    def cancel(self, firing: Firing, reason: str, now: datetime) -> bool:
        """Have it end now; False when it is being undone, and goes on."""
        settled = settling.cancelled(firing, reason, now)
        if settled is None:
            return False
        firing.pending = None
        if settled.run is None and settled.settlement.status is not None:
            self._not_run(firing.entry, firing.scheduled_for, "cancelled", reason)
        self.settle(firing, settled, now)
        return True

    def _end(self, firing: Firing, settlement: Settlement, status: Status, now: datetime) -> None:
        tried, entry = settlement.tried, firing.entry
        self.ended[firing.id] = Outcome(
            id=firing.id,
            status=status,
            reason=settlement.reason,
            attempt=firing.attempt,
            finished_at=settlement.finished_at,
            body=tried and tried.response_body,
            error=tried and tried.error,
        )
        del self.live[firing.id]
        firing.over = True
        entry.live.remove(firing)
        if settlement.gone:
            entry.pause()
        self._free(entry, now)
        if status in dependents.FOLLOWED_STATUSES:
            self._follow(firing, settlement, status, now)

    def _free(self, entry: Entry, now: datetime) -> None:
        """Let the next blocked one go, when nothing else of its schedule is live."""
        if entry.live and all(each.state == "blocked" for each in entry.live):
            freed = entry.live[0]
            freed.state, freed.available_at = "waiting", max(now, freed.available_at)
            self._agenda.note(freed.available_at, BEGIN, freed)

    def _follow(
        self, firing: Firing, settlement: Settlement, status: Status, now: datetime
    ) -> None:
        end = dependents.End(
            id=firing.id,
            schedule_id=firing.entry.schedule.id,
            scheduled_for=firing.scheduled_for,
            status=status,
            reason=settlement.reason,
            result=settlement.result,
        )
        wanted = "succeeded" if status == "succeeded" else "failed"
        for entry in self._followers[firing.entry.key]:
            after = entry.schedule.definition.after
            if after is not None and after.on in {"finished", wanted}:
                row, slot = entry.row(), end.scheduled_for
                self._ask(
                    entry,
                    row,
                    id_=ids.following_id(entry.schedule.id, end.id, slot),
                    slot=slot,
                    now=now,
                    triggered_by="after",
                    payload=dependents.payload_after(row, end),
                )

    def _not_run(self, entry: Entry, slot: datetime, status: Any, reason: str) -> None:
        self.not_run.append(
            NotRun(schedule=entry.key, first=slot, last=slot, count=1, status=status, reason=reason)
        )
