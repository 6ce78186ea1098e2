"""What a worker can do with a claim: the contract of every kind of call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of a call. A call that failed has an `error`, an answer has a `code`, or neither:
    a task that returned has nothing more to say."""

    code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    error: str | None = None
    """One line: why there was no answer, or not a whole one."""
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None and (self.code is None or self.is_2xx)

    @property
    def is_2xx(self) -> bool:
        return self.code is not None and 200 <= self.code < 300


class Call(Protocol):
    """One call, ready to be made."""

    @property
    def shown(self) -> str | None:
        """What will be sent, as JSON without NUL characters, for people to read later."""
        ...

    async def send(self) -> Reply:
        """Make it, within the schedule's timeout. Failure is a reply; nothing is raised."""
        ...


class Caller(Protocol):
    """Makes the calls of a lane."""

    def prepare(self, claim: Claim, schedule: Schedule) -> Call:
        """The call for this claim."""
        ...
