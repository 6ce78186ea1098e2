"""One attempt, as a list of steps: begin, call, judge, settle.

Failure is an outcome, not an exception: whatever the target, the network or the caller does, an
attempt ends in a settlement. The one exception is a claim that was lost: nobody wants to hear.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.finish import Settlement
from rota.workers import capture
from rota.workers.calls import Reply
from rota.workers.events import FiringStarted, about
from rota.workers.held import Phase, Stop
from rota.workers.hosts.heard import sign_of
from rota.workers.judge import Verdict, judge

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db.server_clock import DatabaseClock
    from rota.events import Bus
    from rota.workers.calls import Call, Caller
    from rota.workers.held import Held
    from rota.workers.hosts.keeper import HostKeeper

_NO_DELAY = timedelta()


@dataclass(frozen=True, slots=True)
class _Begun:
    held: Held
    call: Call | None
    """None when it could not even be prepared."""
    error: str | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class _Called:
    begun: _Begun
    reply: Reply
    finished_at: datetime


class Attempts:
    """Makes attempts."""

    def __init__(
        self,
        worker: UUID,
        time: DatabaseClock,
        bus: Bus,
        *,
        hosts: HostKeeper | None = None,
        has_tokens: bool = False,
    ) -> None:
        self._worker = worker
        self._time = time
        self._bus = bus
        self._hosts = hosts
        self._has_tokens = has_tokens

    async def make(self, held: Held, caller: Caller) -> Settlement | None:
        """What came of it; None when the claim was lost on the way."""
        begun = self._begin(held, caller)
        called = await self._call(begun)
        if held.stop is Stop.LOST:
            self._tell_host(called, "interrupted")
            return None
        verdict = self._judge(called)
        self._tell_host(called, verdict.outcome)
        return self._settle(called, verdict)

    def _begin(self, held: Held, caller: Caller) -> _Begun:
        claim = held.claim
        held.task = asyncio.current_task()
        started_at = self._time.now()
        if self._bus.hears(FiringStarted):
            lateness = started_at - claim.available_at
            self._bus.publish(FiringStarted(**about(claim, self._worker), lateness=lateness))
        try:
            return _Begun(held, caller.prepare(claim, held.schedule), None, started_at)
        except Exception as error:  # noqa: BLE001 - a firing that cannot be prepared has failed
            return _Begun(held, None, _described(error), started_at)

    async def _call(self, begun: _Begun) -> _Called:
        held = begun.held
        try:
            reply = await self._send(begun) if held.stop is None else _broken_off(held.stop)
        except asyncio.CancelledError:
            # Ours, by `Held.break_off`: the call is over, the task goes on to settle it.
            if held.stop is None or held.task is None:
                raise
            held.task.uncancel()
            reply = _broken_off(held.stop)
        held.phase = Phase.SETTLING
        return _Called(begun, reply, self._time.now())

    async def _send(self, begun: _Begun) -> Reply:
        if begun.call is None:
            return Reply(error=begun.error)
        try:
            return await begun.call.send()
        except Exception as error:  # noqa: BLE001 - a caller's fault is the attempt's failure
            return Reply(error=_described(error), sent=False)

    def _judge(self, called: _Called) -> Verdict:
        held = called.begun.held
        definition = held.schedule.definition
        match held.stop:
            case Stop.CANCELLED:
                return Verdict(outcome="cancelled", status="cancelled", reason=held.stop_reason)
            case Stop.INTERRUPTED if definition.delivery == "at_most_once":
                return Verdict(outcome="interrupted", status="dead", reason="worker stopped")
            case Stop.INTERRUPTED:
                # Not the target's fault: it goes back at once, even after its last attempt.
                return Verdict(outcome="interrupted", delay=_NO_DELAY)
            case _:
                return judge(
                    called.reply,
                    attempt=held.claim.attempt,
                    definition=definition,
                    began_at=held.claim.began_at,
                    now=called.finished_at,
                    has_token=self._has_tokens,
                )

    def _tell_host(self, called: _Called, outcome: str) -> None:
        """What could not even be prepared says nothing of the host, but that it was not tried."""
        if self._hosts is not None:
            sign = "void" if called.begun.call is None else sign_of(called.reply, outcome)
            self._hosts.hear(called.begun.held, sign, called.reply, called.finished_at)

    def _settle(self, called: _Called, verdict: Verdict) -> Settlement:
        begun, reply = called.begun, called.reply
        wanted = begun.held.schedule.definition.capture
        shown = None if begun.call is None else begun.call.shown
        finished_at, delay, detach = called.finished_at, verdict.delay, verdict.detach
        return Settlement(
            claim=begun.held.claim,
            started_at=begun.started_at,
            finished_at=finished_at,
            status=verdict.status,
            reason=None if verdict.reason is None else capture.clean(verdict.reason),
            retry_at=None if delay is None else finished_at + delay,
            detached_until=None if detach is None else finished_at + detach,
            gone=verdict.gone,
            tried=capture.tried(verdict.outcome, reply, shown=shown, capture=wanted),
            code=reply.code,
            excerpt=capture.excerpt(reply, capture=wanted, ok=verdict.status == "succeeded"),
        )


def _broken_off(stop: Stop) -> Reply:
    return Reply(error=f"broken off: {stop.value}")


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
