"""`TestKit`: the one object that a test makes."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Self

from rota.errors import CallerError
from rota.library.asking import in_async_code
from rota.library.task import Task
from rota.testing import answers, calling
from rota.testing.asked import Asked
from rota.testing.calling import Begun
from rota.testing.clock import KitClock, instant, span
from rota.testing.errors import Runaway
from rota.testing.records import Runs
from rota.testing.settling import settled
from rota.workers import sagas

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.library.app import Rota
    from rota.testing.firing import Firing
    from rota.testing.records import Call, NotRun, Run

MOST: Final = 100_000
"""Attempts of one instant: beyond that they beget one another."""

AnyTask = Task[..., Any]


class TestKit(Asked):
    """A program's schedules and tasks on a clock that only the test moves.

    kit = TestKit(rota, now="2026-03-01T00:00Z")
    kit.advance(hours=24)               # in async tests: await kit.advance(hours=24)

    Every slot after `now` fires, in order, and its function is called, here. While the kit is there
    whatever the program enqueues goes to it: no database, no server, no thread that waits. Use it
    as a context manager, or `close` it, where another test uses the same `Rota` without a kit.
    """

    __test__ = False  # or pytest would take it for a class of tests

    def __init__(self, rota: Rota, *, now: datetime | str) -> None:
        if rota.is_running:
            raise CallerError("expected a Rota that is not running: the kit runs it instead")
        super().__init__(rota, KitClock(instant(now)))
        self._answers = answers.Answers()
        self._takes: list[tuple[str, timedelta]] = []
        self._is_moving = False
        rota.stand_in = self

    # What a test looks at

    @property
    def next_at(self) -> datetime | None:
        """When something happens next; None when nothing will."""
        self._meet()
        return self._world.next_at()

    @property
    def runs(self) -> list[Run]:
        """All attempts so far that have ended, in order."""
        return self._world.runs

    @property
    def not_run(self) -> list[NotRun]:
        """All slots so far that were skipped, missed or cancelled before they began, and why."""
        return self._world.not_run

    @property
    def calls(self) -> list[Call]:
        """All calls of URLs, streams, Celery tasks and tasks of others; none of them was made."""
        return self._answers.calls

    @property
    def waiting(self) -> int:
        """How many runs wait, are to be tried again, or are under way."""
        return len(self._world.live)

    def runs_of(self, what: AnyTask | str) -> list[Run]:
        """The attempts of a task, or of a schedule by its key."""
        name = _name(what)
        return [run for run in self.runs if _is_called(name, run.schedule, run.task)]

    def check(self) -> None:
        """Raise what the first firing that failed for good has raised; for the end of a test."""
        for run in self.runs:
            if run.status == "dead":
                said = f"{run.task or run.schedule} of {run.scheduled_for}: {run.reason}"
                raise AssertionError(said) from run.exception

    # What a test says beforehand

    def add(self, fields: Mapping[str, Any]) -> None:
        """A schedule more, as the API takes it: of a file for `rota apply`, of an importer."""
        self._meet()
        self._world.add(fields, self.now)

    def takes(
        self, what: AnyTask | str, interval: timedelta | float | str | None = None, **units: float
    ) -> None:
        """How long runs of a task, or of a schedule, take: nothing unless it is said here."""
        self._takes.insert(0, (_name(what), span(interval, units)))

    def answers(
        self,
        to: str,
        code: int | None = None,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        error: str | None = None,
        times: int | None = None,
    ) -> None:
        """What calls of a schedule (its key), or of a URL, are answered; `times` of them, or all.

        `kit.answers("https://acme.example/sync", 503, times=2)`; `error="refused"` for no answer.
        """
        reply = answers.reply(code, body, headers, error)
        self._answers.add(answers.Answer(to, reply, times))

    # Time

    def advance(self, interval: timedelta | float | str | None = None, **units: float) -> Runs:
        """Let time pass: `advance(hours=24)`, `advance("90m")`. Whatever comes due is run.

        Both ends count: what is due now, and what is due at the very end.
        """
        return self.advance_to(self.now + span(interval, units))

    def advance_to(self, at: datetime | str) -> Runs:
        """The same, up to an instant."""
        until = instant(at)
        if until < self.now:
            raise ValueError(f"expected an instant from {self.now.isoformat()} on, got {at}")
        return self._move(until)

    def run_due(self) -> Runs:
        """Run whatever is due now, and whatever that enqueues; no time passes."""
        return self._move(self.now)

    def outage(self, interval: timedelta | float | str | None = None, **units: float) -> Runs:
        """Let time pass in which nothing is fired and nothing begins, and then come back: what was
        missed is caught up with, or not, by each schedule's misfire policy.

        What is under way when it begins ends as if nothing had been.
        """
        self._meet()
        if self._is_moving:
            raise self._nested()
        self.clock.move(self.now + span(interval, units))
        return self.run_due()

    def trigger(self, what: AnyTask | str, payload: Any = None) -> UUID:
        """A run of a schedule, asked for by hand: it is due now, and run by `run_due`."""
        return self.start(what if isinstance(what, str) else what.key, payload)

    def close(self) -> None:
        """The program is as it was before: what it enqueues goes to its database."""
        if self._rota.stand_in is self:
            self._rota.stand_in = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _move(self, until: datetime) -> Runs:
        if self._is_moving:
            raise self._nested()
        if in_async_code():
            return Runs(lambda runs: self._move_soon(until, runs))
        runs = Runs()
        self._move_now(until, runs)
        return runs

    def _move_now(self, until: datetime, runs: Runs) -> None:
        runner: asyncio.Runner | None = None

        def run(coroutine: Any) -> Any:
            nonlocal runner
            runner = runner or asyncio.Runner()
            return runner.run(coroutine)

        try:
            # Closed at once, also when a test is ended from inside a task.
            with closing(self._attempts(until, runs)) as attempts:
                for begun in attempts:
                    calling.now(begun, run)
        finally:
            if runner is not None:
                runner.close()

    async def _move_soon(self, until: datetime, runs: Runs) -> None:
        with closing(self._attempts(until, runs)) as attempts:
            for begun in attempts:
                await calling.soon(begun)

    def _attempts(self, until: datetime, runs: Runs) -> Generator[Begun]:
        """Every attempt that is to be made up to then. It must have a reply when it comes back."""
        self._meet()
        self._is_moving = True
        seen = len(self.runs)
        count, at = 0, None
        try:
            while (due := self._world.next_at()) is not None and due <= until:
                self.clock.move(due)
                firing = self._world.step(self.now)
                if firing is None:
                    continue
                count = count + 1 if at == self.now else 1
                at = self.now
                if count > MOST:
                    raise _runaway(firing, self.now)
                yield from self._attempt(firing)
            self.clock.move(until)
        finally:
            self._is_moving = False
            for run in self.runs[seen:]:
                runs.add(run)

    def _attempt(self, firing: Firing) -> Iterator[Begun]:
        begun = self._begin(firing)
        if begun.spec is None:
            begun.reply = self._answers.give(begun)
        else:
            yield begun
        self._meet()
        self._world.called(firing, settled(begun), self.now)

    def _begin(self, firing: Firing) -> Begun:
        claim, schedule = sagas.at_step(firing.claim(self.now), firing.entry.schedule)
        task = schedule.definition.job_type
        spec = None if task is None else self._rota.registry.get(task)
        lengths = (each for name, each in self._takes if _is_called(name, schedule.key, task))
        return Begun(
            firing=firing,
            claim=claim,
            schedule=schedule,
            spec=spec,
            started_at=self.now,
            takes=next(lengths, span(0, {})),
        )

    def _nested(self) -> CallerError:
        return CallerError("the kit is running already: a task cannot move its own clock")


def _name(what: AnyTask | str) -> str:
    return what if isinstance(what, str) else what.name


def _is_called(name: str, key: str, task: str | None) -> bool:
    """Whether a test means this one: by key, by the task's name, or by the function's alone."""
    return name in {key, task} or (task is not None and task.rpartition(".")[2] == name)


def _runaway(firing: Firing, now: datetime) -> Runaway:
    return Runaway(
        f"{MOST:,} attempts at {now.isoformat()}, the last of {firing.entry.key!r}: does a task "
        "enqueue itself without a delay?"
    )
