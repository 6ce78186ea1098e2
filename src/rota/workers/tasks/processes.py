"""Child processes for tasks that need a core, or may be killed: one run at a time in each.

A thread of ours waits for each child. Which run gets the next free child is fair between tenants,
and where there are several, none has more than its share of the children. A child that dies is a
failed run, and the next run gets a new child; a run whose time is up, or that is cancelled, is
ended by killing its child.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from rota.workers.caller import Reply
from rota.workers.fair_queue import WeightedFairQueue
from rota.workers.tasks import child
from rota.workers.tasks.events import ChildEnded
from rota.workers.tasks.threads import Threads, Work

if TYPE_CHECKING:
    from uuid import UUID

    from rota.events import Bus
    from rota.queue.claim import Claim
    from rota.workers.deadlines import Deadlines
    from rota.workers.tasks.registry import TaskSpec
    from rota.workers.tasks.run import Run

_spawn = multiprocessing.get_context("spawn")
_JOIN_TIMEOUT = 5.0
_NOT_BEGUN = Reply(error="cancelled before a child process was free")


class Processes:
    """At most `most` children (as many as there are cores, without it), started when needed."""

    def __init__(self, most: int | None, *, bus: Bus) -> None:
        self._most = most or os.cpu_count() or 1
        self._threads = Threads(self._most, name="rota child")
        self._line: WeightedFairQueue[Work] = WeightedFairQueue(slots=self._most)
        self._order = count()
        self._bus = bus
        self._local = threading.local()
        self._children: set[_Child] = set()

    @property
    def others(self) -> int:
        """How many tenants there are beyond the first (`WeightedFairQueue`)."""
        return self._line.others

    @others.setter
    def others(self, count: int) -> None:
        self._line.others = count
        self._start()

    def run(
        self, spec: TaskSpec, payload: str, run: Run, deadlines: Deadlines[Run], *, claim: Claim
    ) -> Work:
        """Run it in a child. Its time counts from when a child is free. On the loop."""
        # Until then there is no end to keep to.
        deadlines.remove(run)
        loop = run.task.get_loop()

        def begin() -> None:
            run.restart()
            if not run.over:
                deadlines.add(run)

        def call() -> Reply:
            child = self._child()
            if run.over:
                return _NOT_BEGUN
            loop.call_soon_threadsafe(begin)
            return child.call(spec, payload, run)

        work = self._threads.work(call)
        tenant = claim.tenant_id
        work.on_returned = lambda: self._returned(tenant)
        self._line.push([work], tenant=tenant, weight=claim.weight, order=next(self._order))
        self._start()
        return work

    def _start(self) -> None:
        """As many as there are children for."""
        line = self._line
        while line.busy < self._most and (work := line.take(_still_wanted, begins=True)):
            self._threads.start(work)

    def _returned(self, tenant: UUID) -> None:
        self._line.ended(tenant)
        self._start()

    def close(self) -> None:
        """End all children."""
        self._threads.close()
        for each in tuple(self._children):
            each.end()

    def _child(self) -> _Child:
        """This thread's."""
        found: _Child | None = getattr(self._local, "child", None)
        if found is None or not found.alive:
            if found is not None:
                self._children.discard(found)
            found = self._local.child = _Child(self._bus)
            self._children.add(found)
        return found


class _Child:
    """A child process, and the thread's end of the line to it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._line, theirs = _spawn.Pipe()
        self._process = _spawn.Process(
            target=child.serve, args=(theirs,), name="rota task", daemon=True
        )
        self._process.start()
        # Ours to close: otherwise the line would not end with the child.
        theirs.close()
        # It says so when it is ready. Its start is nobody's time but ours.
        with contextlib.suppress(EOFError, OSError):
            self._line.recv()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        self._process.kill()

    def call(self, spec: TaskSpec, payload: str, run: Run) -> Reply:
        """Have it run a task, and wait for what comes of it. In a thread."""
        context = run.context
        run.kill = self.end
        order = child.Order(
            path=spec.import_path,
            payload=payload,
            context=None if context is None else child.told(context),
        )
        try:
            # Asked for after there is a way to kill it: who ends it in between has done neither.
            if run.over:
                return _NOT_BEGUN
            return self._ask(order, run)
        except (EOFError, OSError):
            return self._died(spec)
        finally:
            run.kill = None

    def _ask(self, order: child.Order, run: Run) -> Reply:
        self._line.send(order)
        while not isinstance(answer := self._line.recv(), Reply):
            _heed(answer, run)
        return answer

    def _died(self, spec: TaskSpec) -> Reply:
        self._process.join(_JOIN_TIMEOUT)
        code = self._process.exitcode
        self._bus.publish(ChildEnded(task=spec.name, exit_code=code))
        return Reply(error=f"the task's process {_ended(code)}")


def _still_wanted(work: Work) -> bool:
    """What was cancelled while it waited is over."""
    if not work.future.cancelled():
        return True
    work.on_returned = None
    work.deliver()
    return False


def _heed(word: Any, run: Run) -> None:
    """What a running task has to say."""
    context = run.context
    match word:
        case ("progress", fraction, note) if context is not None:
            context.progress(fraction, note)
        case ("extend", seconds):
            run.extend(timedelta(seconds=seconds))
        case _:
            pass


def _ended(code: int | None) -> str:
    if code is None:
        return "is gone"
    if code >= 0:
        return f"ended by itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", as when the machine is out of memory" if name == "SIGKILL" else ""
    return f"was killed ({name}{hint})"
