"""Concurrency limit per host: a slow host must not take all slots of a worker. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.workers.inflight import InflightClaim


@dataclass(slots=True, eq=False)
class _Host:
    busy: int = 0
    ended: int = 0
    """Since the last look."""


class HostSemaphore:
    """Counts what is under way to each host; `most` for each, 0 for no limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._hosts: dict[str, _Host] = {}

    def admit(self, held: InflightClaim) -> bool:
        """Whether its host has room for one more call."""
        host = held.claim.host
        if host is None:
            return True
        one = self._hosts.get(host)
        return one is None or one.busy < self._most

    def began(self, host: str) -> None:
        one = self._hosts.get(host)
        if one is None:
            one = self._hosts[host] = _Host()
        one.busy += 1

    def ended(self, host: str) -> None:
        one = self._hosts[host]
        one.busy -= 1
        one.ended += 1

    def in_the_way(self, waiting: Iterable[InflightClaim]) -> list[InflightClaim]:
        """Those of the waiting whose host will not come to them within the next moments.

        To be asked once a second: a host is expected to do as much as in the last one, twice over,
        and to need as many in reserve as it may have calls at once.
        """
        left = {
            host: max(2 * one.ended, self._most)
            for host, one in self._hosts.items()
            if one.busy >= self._most
        }
        self._look_again()
        if not left:
            return []
        order = sorted(waiting, key=lambda held: (-held.claim.priority, held.claim.available_at))
        return [held for held in order if _spent(left, held.claim.host)]

    def _look_again(self) -> None:
        for host, one in list(self._hosts.items()):
            one.ended = 0
            if not one.busy:
                del self._hosts[host]


def _spent(left: dict[str, int], host: str | None) -> bool:
    if host is None or host not in left:
        return False
    left[host] -= 1
    return left[host] < 0
