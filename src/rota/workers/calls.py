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
    permanent: bool = False
    """Another attempt would fail in the same way, such as for want of a secret."""
    sent: bool = True
    """False when it failed before anything was sent: that says nothing of the host."""

    def header(self, name: str) -> str:
        """The first header of this name, in lower case; empty when there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


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
