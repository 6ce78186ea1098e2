"""What a program asks of its `Rota` while a test runs it: the kit as a `library.standing_in`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rota.errors import CallerError
from rota.testing.errors import NotEnded
from rota.testing.records import Enqueued
from rota.testing.world import World
from rota.workers.tasks import arguments

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.history.outcomes import Outcome
    from rota.library.app import Rota
    from rota.queue.enqueue import EnqueueRequest
    from rota.testing.clock import KitClock
    from rota.testing.firing import Entry, Firing


class Asked:
    """A program's schedules at one instant, and the answers to what it asks."""

    def __init__(self, rota: Rota, clock: KitClock) -> None:
        self._rota = rota
        self.clock = clock
        """`kit.clock.now()`, for code that takes a clock."""
        self._world = World()
        self._enqueued: list[Enqueued] = []
        self._met = 0
        self._meet()

    @property
    def now(self) -> datetime:
        """The kit's instant, aware and in UTC."""
        return self.clock.now()

    @property
    def enqueued(self) -> list[Enqueued]:
        """All runs that were enqueued so far, by the test or by tasks."""
        return self._enqueued

    def _meet(self) -> None:
        """The schedules that the program has declared since."""
        declared = self._rota.declared
        if len(declared) == self._met:
            return
        for each in declared:
            if each.key not in self._world.entries:
                self._world.add(each.fields, self.now)
        self._met = len(declared)

    def enter(self, order: EnqueueRequest) -> list[UUID]:
        """What the program enqueues."""
        self._meet()
        live = set(self._world.live)
        firings = self._world.enter(order, self.now)
        for each in firings:
            if each.id not in live:
                self._enqueued.append(self._asked(each))
        return [each.id for each in firings]

    def start(self, key: str, payload: Any) -> UUID:
        """A run of a schedule that the program, or the test, asks for."""
        self._meet()
        return self._world.trigger(self._entry(key), payload, self.now)

    def outcome(self, firing_id: UUID) -> Outcome | None:
        """How a run ended."""
        if firing_id in self._world.live:
            raise NotEnded(
                f"this run has not ended at {self.now.isoformat()}: kit.run_due() runs what is due "
                "now, kit.advance(…) what is due later. A task that waits for the result of "
                "another cannot be tested with the kit"
            )
        return self._world.ended.get(firing_id)

    def status(self, firing_id: UUID) -> str | None:
        """How a run stands."""
        live = self._world.live.get(firing_id)
        ended = self._world.ended.get(firing_id)
        return live.state if live is not None else ended and ended.status

    def cancel(self, firing_id: UUID, reason: str) -> bool:
        """Have a run end."""
        firing = self._world.live.get(firing_id)
        return firing is not None and self._world.cancel(firing, reason, self.now)

    def _asked(self, firing: Firing) -> Enqueued:
        payload = None if firing.payload is None else msgspec.json.decode(firing.payload)
        args, kwargs = arguments.split(payload)
        return Enqueued(
            task=firing.entry.schedule.definition.job_type or "",
            args=tuple(args),
            kwargs=dict(kwargs),
            scheduled_for=firing.scheduled_for,
            enqueued_at=self.now,
            key=firing.unique_key,
            priority=firing.priority,
            firing_id=firing.id,
        )

    def _entry(self, name: str) -> Entry:
        found = self._world.entries.get(name)
        if found is None:
            known = ", ".join(sorted(self._world.entries)) or "none"
            raise CallerError(f"expected the key of a schedule ({known}), got {name!r}")
        return found
