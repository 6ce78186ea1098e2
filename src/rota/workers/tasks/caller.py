"""Calling tasks: what a worker does with the claims of a queue whose functions it has."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota.clock import SystemClock
from rota.errors import OperatorError, TemporaryError
from rota.events import Bus
from rota.workers.caller import WITHHELD, Reply, always
from rota.workers.deadlines import Deadlines
from rota.workers.delivery import message
from rota.workers.delivery.secret_injection import BEGINNING, Unsendable
from rota.workers.tasks import arguments, results
from rota.workers.tasks.context import Context
from rota.workers.tasks.events import TaskUnknown
from rota.workers.tasks.failures import reply_to
from rota.workers.tasks.processes import Processes
from rota.workers.tasks.progress import Progress
from rota.workers.tasks.run import Run
from rota.workers.tasks.stepped_coroutine import SteppedCoroutine
from rota.workers.tasks.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Begin
    from rota.workers.delivery.request_signing import PreparedRequest, RequestSigner
    from rota.workers.tasks.registry import Registry, TaskSpec

CONCURRENCY: Final = 500
"""As the worker's own, if nobody says otherwise."""

# Longer than the look ahead of any worker, or it would be claimed again at once.
_FIRST_WAIT = timedelta(seconds=5)
_LONGEST_WAIT = timedelta(minutes=1)
_SAY_AGAIN = 60.0
_CANCELLED_ITSELF = "CancelledError: the task cancelled itself"


class TaskCaller:
    """Makes the calls of all queues of a registry. One for each worker; `close` it at the end.

    `concurrency` is the worker's, so that every slot has its thread. `processes` is how many child
    processes there may be for tasks that run in one. Without `db` and `worker` progress is not
    written down. `signer` fills secrets into the payloads of schedules.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        db: Database | None = None,
        worker: UUID | None = None,
        concurrency: int = CONCURRENCY,
        processes: int | None = None,
        bus: Bus | None = None,
        clock: Clock | None = None,
        signer: RequestSigner | None = None,
    ) -> None:
        self.registry = registry
        self.clock = clock or SystemClock()
        self.deadlines: Deadlines[Run] = Deadlines(self.clock.monotonic)
        self.threads = Threads(concurrency)
        self._bus = bus or Bus()
        self.processes = Processes(processes, bus=self._bus)
        self._db = db
        self._worker = worker
        self._signer = signer
        self._progress: Progress | None = None
        self._said: dict[str, float] = {}

    @property
    def others(self) -> int:
        """As `workers.caller.Pooled` says. A thread is as good as a slot of the worker, whose
        shares hold for threads too; of child processes there are fewer."""
        return self.processes.others

    @others.setter
    def others(self, count: int) -> None:
        self.processes.others = count

    def prepare(self, claim: Claim, schedule: Schedule) -> TaskCall:
        """The call for this claim."""
        name = schedule.definition.job_type or ""
        spec = self.registry.get(name)
        if spec is None:
            raise LookupError(f"this worker has no task {name!r}")
        return TaskCall(self, spec, claim, schedule)

    def prepare_early(
        self,
        claim: Claim,
        schedule: Schedule,
        wait: float,  # noqa: ARG002 - as `PreparesEarly` says
    ) -> TaskCall | None:
        """The call with its arguments read, of a light task that a program enqueued."""
        spec = self.registry.get(schedule.definition.job_type or "")
        if spec is None or not spec.is_light or claim.triggered_by != "enqueue":
            return None
        call = TaskCall(self, spec, claim, schedule)
        return call if call.read_early() else None

    def can_run(self, schedule: Schedule) -> bool:
        """Whether its task is known here."""
        return schedule.definition.job_type in self.registry

    def wait_for(self, claim: Claim, schedule: Schedule, now: datetime) -> timedelta:
        """How long to leave a claim to others whose task is not known here.

        The longer it has waited in vain, the longer: no worker may ever have it.
        """
        name = schedule.definition.job_type or ""
        wait = min(max(now - claim.scheduled_for, _FIRST_WAIT), _LONGEST_WAIT)
        at = self.clock.monotonic()
        if at >= self._said.get(name, 0.0):
            self._said[name] = at + _SAY_AGAIN
            self._bus.publish(
                TaskUnknown(
                    task=name,
                    queue=claim.lane,
                    firing_id=claim.id,
                    schedule_id=claim.schedule_id,
                    again_in=wait,
                )
            )
        return wait

    def close(self) -> None:
        """No more calls. Threads that still run end with the process at the latest."""
        self.deadlines.close()
        self.threads.close()
        self.processes.close()
        if self._progress is not None:
            self._progress.close()

    def context(self, claim: Claim, schedule: Schedule) -> Context:
        """What a function that asks for it is told."""
        deadline = self.clock.now() + schedule.definition.timeout
        context = Context.of(claim, schedule, deadline=deadline)
        if self._db is not None and self._worker is not None:
            if self._progress is None:
                loop = asyncio.get_running_loop()
                self._progress = Progress(self._db, self._worker, loop=loop, clock=self.clock)
            context.say = self._progress.say
        return context

    async def ready(self, claim: Claim, payload: str) -> PreparedRequest:
        """The payload with its secrets filled in, and what must not show in what comes of it."""
        template = message.template("CALL", "", payload.encode(), {})
        if self._signer is None:
            raise Unsendable("expected a secret in the payload, got no key ring to open it by")
        return await self._signer.complete(claim, template)

    def over(self, context: Context) -> None:
        """A run that had a context has ended."""
        if self._progress is not None:
            self._progress.forget(context.firing_id)


class TaskCall:
    """One call of a function. A `workers.caller.Call`."""

    __slots__ = (
        *("_begin", "_caller", "_claim", "_filled", "_read", "_schedule", "_spec", "lingers"),
    )

    def __init__(
        self, caller: TaskCaller, spec: TaskSpec, claim: Claim, schedule: Schedule
    ) -> None:
        self._caller = caller
        self._spec = spec
        self._claim = claim
        self._schedule = schedule
        self._begin: Begin = always
        self._filled: str | None = None
        """The payload with its secrets, when it wants some."""
        self._read: tuple[list[Any], dict[str, Any]] | None = None
        """Its arguments, when they were read early."""
        self.lingers: asyncio.Future[None] | None = None
        """Done when the function has returned, of one that goes on although its run is over."""

    @property
    def shown(self) -> str:
        name = msgspec.json.encode(self._spec.name).decode()
        return f'{{"task":{name},"payload":{self._payload()}}}'

    @property
    def task(self) -> str | None:
        """Its name, if that and the firing's own payload are all there is to show."""
        own = self._claim.payload is not None or self._schedule.definition.payload is None
        return self._spec.name if own else None

    def read_early(self) -> bool:
        """Read its arguments; False when they are wrong, which is told when it is sent."""
        with contextlib.suppress(Exception):
            self._read = self._arguments()
        return self._read is not None

    def send(self, begin: Begin = always) -> Coroutine[Any, Any, Reply]:
        """Run it, within the task's timeout. Failure is a reply."""
        self._begin = begin
        if self._wants_secrets():
            return self._send_with_secrets()
        return self._send_lightly() if self._spec.is_light else self._send()

    async def _send_with_secrets(self) -> Reply:
        try:
            ready = await self._caller.ready(self._claim, self._payload())
        except Unsendable as error:
            return Reply(error=str(error), permanent=True, sent=False)
        except OperatorError as error:
            return Reply(error=str(error), sent=False)
        except TemporaryError:
            return WITHHELD
        self._filled = ready.request.body.decode()
        return await ready.scrub(await self._send())

    def _wants_secrets(self) -> bool:
        """Of a schedule, or of somebody who triggered it. What a program enqueues is data: whoever
        can put words into that must not be given secrets for it."""
        claim = self._claim
        if claim.triggered_by == "enqueue":
            return False
        if claim.payload is None and self._schedule.definition.payload is None:
            return False
        return BEGINNING in self._payload()

    async def _send_lightly(self) -> Reply:
        """Of a function on the loop: watched over only if it waits for something, as most that are
        quick do not."""
        began = self._caller.clock.monotonic()
        try:
            args, kwargs = self._read or self._arguments()
            if not self._begin():
                return WITHHELD
            running = self._spec.function(*args, **kwargs)
            waits_for = running.send(None)
        except StopIteration as returned:
            return results.reply_with(returned.value)
        except asyncio.CancelledError:
            return Reply(error=_CANCELLED_ITSELF)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a task raises is its failure
            return reply_to(error)
        return await self._send(SteppedCoroutine(running, waits_for), began=began)

    async def _send(
        self, begun: SteppedCoroutine | None = None, *, began: float | None = None
    ) -> Reply:
        spec, caller = self._spec, self._caller
        context = None
        if spec.signature.context is not None:
            context = caller.context(self._claim, self._schedule)
        task = asyncio.current_task()
        assert task is not None, "a coroutine of the worker's"
        timeout = self._schedule.definition.timeout
        run = Run(task, caller.clock, timeout, context, began=began, on_late=self._begin.overdue)
        caller.deadlines.add(run)
        try:
            if begun is not None:
                return results.reply_with(await begun)
            return await self._reply(run)
        except asyncio.CancelledError:
            # Before it is told: a thread that is about to begin must see one or the other.
            run.over = True
            run.tell()
            if run.timed_out:
                return run.late()
            if task.cancelling():
                raise
            return Reply(error=_CANCELLED_ITSELF)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a task raises is its failure
            # Also what is no Exception, such as `rota.Cancelled`: let through, it would end the
            # attempt without an outcome, and its claim would be kept for ever.
            return reply_to(error)
        finally:
            run.over = True
            caller.deadlines.remove(run)
            if context is not None:
                caller.over(context)

    async def _reply(self, run: Run) -> Reply:
        spec = self._spec
        if spec.runs_in == "process":
            return await self._in_process(run)
        signature = spec.signature
        args, kwargs = self._arguments()
        if signature.context is not None:
            signature.give(args, kwargs, run.context)
        function, begin = spec.function, self._begin
        if spec.runs_in == "loop":
            if not begin():
                return WITHHELD
            return results.reply_with(await function(*args, **kwargs))
        # Asked in the thread: it may have waited for one.
        return await self._in_thread(
            lambda: results.reply_with(function(*args, **kwargs)) if begin() else WITHHELD
        )

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        signature = self._spec.signature
        given = self._filled or self._claim.payload
        if given is not None:
            return arguments.read(given, signature)
        own = self._schedule.definition.payload
        if own is None and not signature.required:
            return [], {}
        return arguments.fit(own, signature)

    async def _in_thread(self, function: Callable[[], Reply]) -> Reply:
        work = self._caller.threads.run(function)
        try:
            return await work.future
        except asyncio.CancelledError:
            # A thread cannot be ended from outside. Its slot stays in use until it returns.
            self.lingers = work.linger()
            raise

    async def _in_process(self, run: Run) -> Reply:
        caller = self._caller
        payload = self._filled or self._payload()
        if not self._begin():
            return WITHHELD
        work = caller.processes.run(self._spec, payload, run, caller.deadlines, claim=self._claim)
        try:
            return await work.future
        except asyncio.CancelledError:
            self.lingers = work.linger()
            raise

    def _payload(self) -> str:
        """The firing's own, or the schedule's, as JSON."""
        given = self._claim.payload
        if given is not None:
            return given
        payload: Any = self._schedule.definition.payload
        return "null" if payload is None else msgspec.json.encode(payload).decode()
