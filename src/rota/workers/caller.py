"""What a worker can do with a claim: the contract of every kind of call."""

from __future__ import annotations

from datetime import timedelta  # noqa: TC003 - the fields of a Struct are read at run time
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine
    from datetime import datetime

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule


class Reply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    refused: bool = False
    """Its port took no connection: whoever calls the host gets the same."""
    retry_in: timedelta | None = None
    """When to try again, as a task asked for it; in place of the schedule's backoff."""
    withheld: bool = False
    """Nothing was begun, for no fault of the target's: the claim goes back as it was."""
    stale_connection: bool = False
    """A connection that had been used before ended before any of the answer came. The target may
    have the request all the same."""
    discarded: bool = False
    """A task asked for its firing's end: nothing to do, nothing to try again."""

    def header(self, name: str) -> str:
        """The first header of this name, in lower case; empty when there is none."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return ""


class Begin(Protocol):
    """What the worker says to a call, and what the call says to the worker."""

    def __call__(self) -> bool:
        """Whether the call may begin at this moment (`right_to_begin`)."""
        ...

    def overdue(self, reply: Reply) -> None:
        """The call's time is up, and it has cancelled the task that makes it; `reply` is its
        outcome should that not end."""
        ...


class _Always:
    def __call__(self) -> bool:
        return True

    def overdue(self, reply: Reply) -> None:
        """Nobody watches over it."""


always: Final[Begin] = _Always()
"""For calls that are made without a claim."""


WITHHELD: Final = Reply(error="the right to begin it had ended", withheld=True, sent=False)


class Call(Protocol):
    """One call, ready to be made."""

    @property
    def shown(self) -> str | None:
        """What will be sent, as JSON without NUL characters, for people to read later."""
        ...

    def send(self, begin: Begin = always) -> Coroutine[Any, Any, Reply]:
        """Make it, within the schedule's timeout. Failure is a reply; nothing is raised.

        `begin` is asked right before the first byte is written, or the function is entered: when it
        says no, the reply is `WITHHELD`.
        """
        ...


class Caller(Protocol):
    """Makes the calls of a lane."""

    def prepare(self, claim: Claim, schedule: Schedule) -> Call:
        """The call for this claim."""
        ...


@runtime_checkable
class SelectiveCaller(Protocol):
    """A caller that may leave a claim to others."""

    def can_run(self, schedule: Schedule) -> bool:
        """Whether firings of this schedule can be run here."""
        ...

    def wait_for(self, claim: Claim, schedule: Schedule, now: datetime) -> timedelta:
        """How long to leave a claim to others that cannot be run here."""
        ...


@runtime_checkable
class PreparesEarly(Protocol):
    """A caller that can do a part of a call's work ahead of its instant."""

    def prepare_early(self, claim: Claim, schedule: Schedule, wait: float) -> Call | None:
        """The call that is to be made in `wait` seconds; None when there is nothing to gain.

        It never fails: what is wrong with the claim comes out when the call is made. A call that is
        not made after all is simply forgotten.
        """
        ...


@runtime_checkable
class Pooled(Protocol):
    """A caller with a pool of its own that tenants share, such as child processes."""

    others: int
    """How many tenants there are beyond the first. For the worker."""


def task_of(call: Call | None) -> str | None:
    """The name of the task that is called with the firing's own payload: all there is to show."""
    return getattr(call, "task", None)


def lingering(call: Call | None) -> asyncio.Future[None] | None:
    """Of a call that goes on although its attempt is over: done when it has come to its end."""
    return getattr(call, "lingers", None)
