"""The right to begin: whether a worker may still begin what it has claimed.

Asked right before the first byte is written, or the function is entered. It ends before anyone else
may be given the claim, whatever has happened to the worker: a lost session, a black hole, a freeze
or a slow reply (docs/decisions/right-to-begin.md).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db.server_clock import DatabaseClock
    from rota.leases import NodeSession
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.inflight import Inflight, InflightClaim

TRUST_MARGIN: Final = timedelta(seconds=1)
"""A claim is not begun any more when it runs out this soon."""


def may_begin(
    *, confirmed: bool, epoch: int, claim_epoch: int, trusted_until: datetime, now: datetime
) -> bool:
    """The rule. `now` and `trusted_until` are the database's time.

    - The session was confirmed within the last second: others wait for two seconds after they have
      seen it gone.
    - The claim is of the same epoch: since it was made, nobody has declared the node gone.
    - The claim does not run out soon.
    """
    return confirmed and epoch == claim_epoch and now < trusted_until - TRUST_MARGIN


class RightToBegin:
    """Of one worker. Without a session nobody can declare it gone: its claims just run out."""

    def __init__(self, session: NodeSession | None, time: DatabaseClock) -> None:
        self._session = session
        self._time = time

    @property
    def epoch(self) -> int:
        """In which claims are made now."""
        return 0 if self._session is None else self._session.epoch

    @property
    def may_claim(self) -> bool:
        """Whether the others can see that this worker lives."""
        return self._session is None or self._session.is_held

    def is_confirmed(self) -> bool:
        """Whether anything may begin at this moment. If not, it is asked for."""
        session = self._session
        if session is None:
            return True
        session.want()
        return session.is_confirmed

    def has(self, held: InflightClaim) -> bool:
        """Whether this claim may be begun at this moment."""
        session = self._session
        return held.stop is None and may_begin(
            confirmed=session is None or session.is_confirmed,
            epoch=self.epoch,
            claim_epoch=held.epoch,
            trusted_until=held.trusted_until,
            now=self._time.now(),
        )


class SessionFollower:
    """Goes on when the node's session is confirmed. After the node has registered again, what it
    had not begun may be another worker's: it is given back, and claimed again."""

    def __init__(self, session: NodeSession, *, inflight: Inflight, release: ClaimRelease) -> None:
        self._session = session
        self._inflight = inflight
        self._release = release
        self._epoch = session.epoch

    async def wait(self) -> None:
        """Return when the session is confirmed."""
        await self._session.confirmation()

    async def run_once(self) -> None:
        """Start what waited for the confirmation."""
        session, inflight = self._session, self._inflight
        if session.epoch != self._epoch:
            self._epoch = session.epoch
            for held in inflight:
                if held.unstarted and held.epoch != self._epoch:
                    self._release.withhold(held)
            inflight.claim_wake.look()
        if inflight:
            session.want()
        inflight.start_wake.set()
