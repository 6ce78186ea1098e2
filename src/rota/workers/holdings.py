"""All claims in a worker's hands, and the order in which it begins them. No I/O."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from rota.workers.held import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from rota.workers.held import Held


class Holdings:
    """Claims by firing. Those that are due stand in line: by priority, then by their instant."""

    def __init__(self, *, concurrency: int, prefetch: int) -> None:
        self._concurrency = concurrency
        self._most = concurrency + prefetch
        self._by_firing: dict[UUID, Held] = {}
        self._line: list[tuple[int, datetime, UUID, Held]] = []
        self.calling = 0
        """How many attempts are under way."""

    def __len__(self) -> int:
        return len(self._by_firing)

    def __iter__(self) -> Iterator[Held]:
        return iter(tuple(self._by_firing.values()))

    @property
    def room(self) -> int:
        """How many more may be claimed. Outcomes not yet recorded count: they hold back claims."""
        return self._most - len(self._by_firing)

    def get(self, firing_id: UUID) -> Held | None:
        return self._by_firing.get(firing_id)

    def add(self, held: Held) -> None:
        self._by_firing[held.claim.id] = held

    def remove(self, held: Held) -> None:
        """Forget it, unless a newer claim of the same firing has taken its place."""
        if self._by_firing.get(held.claim.id) is held:
            del self._by_firing[held.claim.id]

    def concerns(self, id_: UUID) -> bool:
        """Whether the id is that of a firing held, or of a schedule of one."""
        return id_ in self._by_firing or any(
            held.claim.schedule_id == id_ for held in self._by_firing.values()
        )

    def line_up(self, held: Held) -> None:
        """Its instant has come."""
        held.phase = Phase.DUE
        claim = held.claim
        heapq.heappush(self._line, (-claim.priority, claim.available_at, claim.id, held))

    def next_due(self) -> Held | None:
        """The next to begin; None when none is due or all hands are full."""
        while self._line and self.calling < self._concurrency:
            held = heapq.heappop(self._line)[-1]
            if held.phase is Phase.DUE and self._by_firing.get(held.claim.id) is held:
                return held
        return None
