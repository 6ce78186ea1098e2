"""`Rota`: the one object that a program makes, decorates its functions with, and runs."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, overload

from rota.errors import InvalidConfig
from rota.library import naming
from rota.library.collected import Collected, trigger_of
from rota.library.declaration import read_version
from rota.library.errors import InvalidDeclaration
from rota.library.lifecycle import CONCURRENCY, Start
from rota.library.policies import length
from rota.library.program import Program
from rota.library.saga import Saga, parts
from rota.library.settings import Given, read_queues, read_roles, read_tenants
from rota.library.task import AsyncTask, SyncTask, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from pathlib import Path

    from rota.config import Config
    from rota.library.declaration import Declared
    from rota.library.decorating import Decorator
    from rota.library.policies import Length, Policies, SchedulePolicies
    from rota.library.saga import Step
    from rota.library.settings import AllTenants
    from rota.library.standing_in import StandIn
    from rota.triggers.parse import When
    from rota.workers.tasks.context import Context
    from rota.workers.tasks.registry import Registry, RunsIn, TaskSpec

P = ParamSpec("P")
R = TypeVar("R")


class Rota(Program):
    """A program's schedules and tasks, and the engine that runs them inside it.

    rota = Rota()                           # embedded PostgreSQL, in the user's data folder
    rota = Rota("postgresql://…")           # or ROTA_DSN in the environment

    Any number of processes may run the same program on one database: each slot fires once.
    `roles=()` is for a process that only enqueues. `name` is the program's among others on the same
    database, and that of the queue in which its tasks wait unless they name another; without it,
    that of its module. (`app` is an earlier word for it.) `prune` deletes schedules that its code
    no longer has. Every setting of `rota.toml` may be given by its name.

    Its schedules and tasks belong to `tenant`, and its worker runs nothing of any other tenant,
    unless `tenants=["alpha", "beta"]` or `tenants="all"` says so: each tenant named there can run
    every task registered here, with arguments of its choosing.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        name: str | None = None,
        app: str | None = None,
        version: int | str | None = None,
        prune: bool = False,
        timezone: str | None = None,
        tenant: str | None = None,
        tenants: Iterable[str] | str | None = None,
        roles: Iterable[str] | str | None = None,
        queues: Iterable[str] | str | None = None,
        concurrency: int = CONCURRENCY,
        stop_grace: Length = 20,
        config: Config | str | Path | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if dsn is not None:
            settings["dsn"] = dsn
        self._given = Given(config=config, settings=settings, roles=read_roles(roles))
        self._given.check()
        self._version = read_version(version)
        self._prune = prune
        self._timezone = timezone
        self._tenant = tenant
        self._tenants: tuple[str, ...] | AllTenants | None = read_tenants(tenants)
        self._queues = read_queues(queues)
        self._concurrency = concurrency
        self._stop_grace = length(stop_grace)
        self._collected = Collected(_one_name(name, app) or _caller_name())
        self._stand_in: weakref.ref[StandIn] | None = None

    @property
    def app(self) -> str:
        """What this program is called among others on the same database."""
        return self._collected.app

    @property
    def queue(self) -> str:
        """The queue of its tasks that name no other."""
        return self._collected.queue

    @property
    def tenant(self) -> str | None:
        """The name of the tenant whose schedules and tasks these are; None for the default one."""
        return self._tenant

    @property
    def registry(self) -> Registry:
        """The tasks that it knows, by name."""
        return self._collected.registry

    @property
    def declared(self) -> tuple[Declared, ...]:
        """The schedules and tasks that its decorators have met so far."""
        return tuple(self._collected.declaration(version=None, prune=False).items)

    @property
    def stand_in(self) -> StandIn | None:
        """Who answers in place of the engine and the database: a test kit, while there is one."""
        return None if self._stand_in is None else self._stand_in()

    @stand_in.setter
    def stand_in(self, given: StandIn | None) -> None:
        self._stand_in = None if given is None else weakref.ref(given)

    # Decorating

    @overload
    def task(  # pyright: ignore[reportOverlappingOverload] - a Context first comes first
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        queue: str | None = None,
        runs_in: RunsIn | None = None,
        **policies: Unpack[Policies],
    ) -> Decorator: ...
    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        queue: str | None = None,
        runs_in: RunsIn | None = None,
        **policies: Any,
    ) -> Any:
        """Make a function a task: `@rota.task`, or `@rota.task(max_attempts=5, queue="reports")`.

        It is called as before; `task.enqueue(…)` has a worker call it.
        """

        def decorate(function: Callable[..., Any]) -> Task[..., Any]:
            spec = self._collected.spec(function, name=name, queue=queue, runs_in=runs_in)
            key = self._collected.add_task(spec, policies)
            return _task(self, spec, key, policies)

        return decorate if function is None else decorate(function)

    def schedule(
        self,
        when: When | None = None,
        *,
        after: Task[..., Any] | str | None = None,
        on: str | None = None,
        timezone: str | None = None,
        key: str | None = None,
        name: str | None = None,
        queue: str | None = None,
        runs_in: RunsIn | None = None,
        **policies: Unpack[SchedulePolicies],
    ) -> Decorator:
        """Run a function at its times: `@rota.schedule("every weekday at 9am", timezone=…)`.

        `when` is English, cron, "every 5m", a timedelta, a datetime or an RRULE. `after=other`
        runs it when a firing of another task or schedule has `on="succeeded"`, "failed" or
        "finished". On a function with several schedules each has a `key`; on a `@rota.task` the
        schedule begins with the task's policies.
        """

        def decorate(function: Callable[..., Any]) -> Task[..., Any]:
            given = dict(policies)
            inner = cast("Task[..., Any]", function) if isinstance(function, Task) else None
            plain = inner.function if inner else cast("Callable[..., Any]", function)
            place = naming.where(plain)
            try:
                zone = timezone or self._timezone
                trigger = trigger_of(when, after=after, on=on, timezone=zone)
            except (TypeError, ValueError) as error:
                raise InvalidDeclaration(f"{place}: {error}") from error
            if inner is None:
                spec = self._collected.spec(plain, name=None, queue=queue, runs_in=runs_in)
            else:
                spec, given = inner.spec, {**inner.policies, **given}
            own = self._collected.add_schedule(spec, trigger, given, key=key, name=name)
            return inner or _task(self, spec, own, {})

        return cast("Decorator", decorate)

    def saga(
        self,
        key: str,
        steps: Sequence[Step],
        *,
        when: When | None = None,
        after: Task[..., Any] | str | None = None,
        on: str | None = None,
        timezone: str | None = None,
        **policies: Unpack[SchedulePolicies],
    ) -> Saga:
        """Tasks as steps, one after another: `rota.saga("order", [(reserve, release), charge])`.

        A pair is a task and what undoes it. When a step dies, those before it are undone, the last
        first. Without `when` or `after` it runs when `saga.start(…)` says so.
        """
        place = f"saga {key!r} in {_caller_name()}"
        try:
            tasks, fields = parts(steps)
            zone = timezone or self._timezone
            if when is None and after is None:
                trigger: dict[str, Any] = {"on_demand": True}
            else:
                trigger = trigger_of(when, after=after, on=on, timezone=zone)
        except (TypeError, ValueError) as error:
            raise InvalidDeclaration(f"{place}: {error}") from error
        self._collected.add_saga(fields, trigger, policies, key=key, place=place)
        return Saga(self, key, tasks)

    def client_start(self) -> Start:
        """What a process needs that only enqueues, and does not run this (`library.asking`)."""
        start = self._start()
        return replace(start, config=replace(start.config, roles=()))

    def _start(self, **settings: Any) -> Start:
        return Start(
            config=self._given.read(settings),
            registry=self.registry,
            declaration=self._collected.declaration(version=self._version, prune=self._prune),
            tenant=self._tenant,
            tenants=self._tenants,
            queues=self._queues,
            own_queues=self.registry.queues | {self.queue},
            concurrency=self._concurrency,
            stop_grace=self._stop_grace,
        )


def _one_name(name: str | None, app: str | None) -> str | None:
    if name is not None and app is not None and name != app:
        wrong = f"name: expected one name of the program, got {name!r} and app={app!r}"
        raise InvalidConfig((wrong,))
    return name or app


def _task(rota: Rota, spec: TaskSpec, key: str, policies: dict[str, Any]) -> Task[..., Any]:
    if spec.is_async:
        return AsyncTask[..., Any](rota, spec, key=key, policies=policies)
    return SyncTask[..., Any](rota, spec, key=key, policies=policies)


def _caller_name() -> str:
    """The module in which `Rota()` was written: what a program is called unless it says."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as logging does
    return naming.module_name(frame.f_globals.get("__name__", "__main__"))
