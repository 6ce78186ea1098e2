"""One attempt, as a list of steps: begin, call, judge, settle.

Failure is an outcome, not an exception: whatever the target, the network or the caller does, an
attempt ends in a settlement. The one exception is a claim that was lost: nobody wants to hear.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from rota.queue.complete import AttemptRecord, Settlement
from rota.queue.result_handoff import MAX_RESULT
from rota.workers import sagas
from rota.workers.caller import Reply, lingering, task_of
from rota.workers.delivery import capture
from rota.workers.events import FiringStarted, about
from rota.workers.hosts.host_signal import sign_of
from rota.workers.inflight import Phase, Stop
from rota.workers.outcome import Verdict, judge

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.claim import Claim
    from rota.schedules.definition import Capture
    from rota.workers.caller import Begin, Call, Caller
    from rota.workers.hosts.host_limiter import HostLimiter
    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared

_NO_DELAY = timedelta()
_NOTHING = Reply()


class Attempts:
    """Makes attempts."""

    def __init__(
        self,
        shared: Shared,
        *,
        hosts: HostLimiter,
        has_tokens: bool,
    ) -> None:
        self._worker = shared.worker
        self._time = shared.time
        self._bus = shared.bus
        self._inflight = shared.inflight
        self._hosts = hosts
        self._has_tokens = has_tokens

    async def make(
        self, held: InflightClaim, caller: Caller, started_at: datetime, begin: Begin
    ) -> Settlement | None:
        """What came of it; None when the claim was lost on the way, or nothing was begun
        (`InflightClaim.withheld`).

        In one coroutine, and with a short way for the most common end: whatever is done here is
        done for every firing.
        """
        if self._bus.hears(FiringStarted):
            self._tell_start(held.claim, started_at)
        call: Call | None = None
        held.started_at = started_at
        try:
            held.call = call = held.call or caller.prepare(held.claim, held.schedule)
            reply = await call.send(begin)
        except asyncio.CancelledError:
            # Ours, by `InflightClaim.break_off`: the call is over, the task goes on to settle it.
            if held.stop is None or held.task is None:
                raise
            held.task.uncancel()
            reply = _broken_off(held.stop)
        except Exception as error:  # noqa: BLE001 - a caller's fault is the attempt's failure
            # One that could not even be prepared has failed, and so has one that could not be sent.
            reply = Reply(error=_described(error), sent=call is None)
        if held.given_up:
            return None
        if reply.withheld and held.stop is None:
            held.withheld = True
            return None
        if held.stop is not None or reply.timed_out:
            held.lingers = lingering(call)
        finished_at = self._time.now()
        await self._after_starts(held)
        held.phase = Phase.COMPLETING
        if not _has_just_returned(held, reply):
            return self._judged(held, call, reply, (started_at, finished_at))
        task = task_of(call)
        if task is not None and not reply.body and held.claim.step is None:
            return _returned(held, task, started_at, finished_at)
        return _carried_on(held, call, reply, _SUCCEEDED, (started_at, finished_at))

    async def _after_starts(self, held: InflightClaim) -> None:
        """The answer is there; while others are due to start, it is judged later.

        Not of a task: while one runs, nothing else does, and the next start is after its end.
        """
        if held.claim.host is None or not self._inflight.is_starting:
            return
        try:
            await self._inflight.starts_over()
        except asyncio.CancelledError:
            # As in `make`: somebody wanted the end of a call that has just ended.
            if held.stop is None or held.task is None:
                raise
            held.task.uncancel()

    def give_up(self, held: InflightClaim, reply: Reply | None) -> Settlement | None:
        """What comes of a call that goes on although it was told to end; None when its claim was
        lost. `reply` says how it ends, of one that was not broken off by us."""
        held.phase, held.given_up = Phase.COMPLETING, True
        started_at, call, now = held.started_at, held.call, self._time.now()
        assert started_at is not None, "it has begun"
        if reply is None:
            assert held.stop is not None, "it was told to end"
            reply = _broken_off(held.stop)
        return self._judged(held, call, reply, (started_at, now))

    def fail(
        self, held: InflightClaim, started_at: datetime, error: BaseException
    ) -> Settlement | None:
        """What comes of an attempt that broke down here and not at its target; None as above.

        It has failed: given back as if it had not been made, it would be made again, even where it
        may arrive at most once.
        """
        held.phase = Phase.COMPLETING
        if held.stop is Stop.LOST:
            return None
        now = self._time.now()
        reply = Reply(error=_described(error), sent=False)
        try:
            verdict = self._judge(held, reply, now)
            return _carried_on(held, None, reply, verdict, (started_at, now))
        except Exception:  # noqa: BLE001 - what broke down may be what judges
            tried = AttemptRecord(outcome="failed", error=reply.error)
            return Settlement(
                claim=held.claim,
                started_at=started_at,
                finished_at=now,
                status="dead",
                reason=reply.error,
                tried=tried,
            )

    def _tell_start(self, claim: Claim, started_at: datetime) -> None:
        lateness = started_at - claim.available_at
        self._bus.publish(FiringStarted(**about(claim, self._worker), lateness=lateness))

    def _judged(
        self, held: InflightClaim, call: Call | None, reply: Reply, times: tuple[datetime, datetime]
    ) -> Settlement | None:
        _, now = times
        verdict = self._judge(held, reply, now)
        self._tell_host(held, call, reply, verdict.outcome, now)
        if held.stop is Stop.LOST:
            return None
        return _carried_on(held, call, reply, verdict, times)

    def _judge(self, held: InflightClaim, reply: Reply, now: datetime) -> Verdict:
        definition = held.schedule.definition
        match held.stop:
            case Stop.CANCELLED:
                return Verdict(outcome="cancelled", status="cancelled", reason=held.stop_reason)
            case Stop.INTERRUPTED if definition.delivery == "at_most_once":
                return Verdict(outcome="interrupted", status="dead", reason="worker stopped")
            case Stop.INTERRUPTED | Stop.LOST:
                # Not the target's fault: it goes back at once, even after its last attempt.
                return Verdict(outcome="interrupted", delay=_NO_DELAY)
            case None:
                return judge(
                    reply,
                    attempt=held.claim.tries,
                    definition=definition,
                    began_at=held.claim.began_at,
                    now=now,
                    has_token=self._has_tokens,
                )

    def _tell_host(
        self, held: InflightClaim, call: Call | None, reply: Reply, outcome: str, now: datetime
    ) -> None:
        """What could not even be prepared says nothing of the host, but that it was not tried."""
        sign = "void" if call is None else sign_of(reply, outcome)
        self._hosts.hear(held, sign, reply, now)


_SUCCEEDED = Verdict(outcome="succeeded", status="succeeded")


def _has_just_returned(held: InflightClaim, reply: Reply) -> bool:
    """Whether there is nothing to judge, and no host to learn of: a task has returned."""
    return (
        reply.code is None and reply.error is None and held.stop is None and held.claim.host is None
    )


def _returned(
    held: InflightClaim, task: str, started_at: datetime, finished_at: datetime
) -> Settlement:
    """As `_settle`, of a task that has returned and said nothing: so do nearly all."""
    return Settlement(
        claim=held.claim,
        started_at=started_at,
        finished_at=finished_at,
        status="succeeded",
        tried=_tried(task, held.schedule.definition.capture),
        result=b"",
    )


@lru_cache(maxsize=1024)
def _tried(task: str, wanted: Capture) -> AttemptRecord:
    """The same for all of a task."""
    return capture.tried("succeeded", _NOTHING, shown=None, capture=wanted, task=task)


def _carried_on(
    held: InflightClaim,
    call: Call | None,
    reply: Reply,
    verdict: Verdict,
    times: tuple[datetime, datetime],
) -> Settlement:
    settlement = _settle(held, call, reply, verdict, times)
    return settlement if held.claim.step is None else sagas.carry_on(settlement, held.schedule)


def _settle(
    held: InflightClaim,
    call: Call | None,
    reply: Reply,
    verdict: Verdict,
    times: tuple[datetime, datetime],
) -> Settlement:
    started_at, finished_at = times
    claim, wanted = held.claim, held.schedule.definition.capture
    delay, detach = verdict.delay, verdict.detach
    succeeded = verdict.status == "succeeded"
    task = task_of(call) if succeeded and claim.step is None else None
    shown = None if call is None or task is not None else call.shown
    return Settlement(
        claim=claim,
        started_at=started_at,
        finished_at=finished_at,
        status=verdict.status,
        reason=None if verdict.reason is None else capture.clean(verdict.reason),
        retry_at=None if delay is None else finished_at + delay,
        detached_until=None if detach is None else finished_at + detach,
        gone=verdict.gone,
        tried=capture.tried(verdict.outcome, reply, shown=shown, capture=wanted, task=task),
        code=reply.code,
        excerpt=capture.excerpt(reply, capture=wanted, ok=succeeded),
        result=reply.body if len(reply.body) <= MAX_RESULT else None,
    )


def _broken_off(stop: Stop) -> Reply:
    return Reply(error=f"broken off: {stop.value}")


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")[:500]
