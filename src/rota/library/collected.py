"""What the decorators of one `Rota` have met: functions for workers, schedules for the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rota.clock import SystemClock
from rota.library import naming
from rota.library.declaration import Declaration, Declared, task_key
from rota.library.errors import InvalidDeclaration
from rota.library.policies import fields_of
from rota.library.task import Task
from rota.schedules import fields as schedule_fields
from rota.schedules.errors import InvalidSchedule
from rota.targets import InvalidTarget
from rota.triggers import parse
from rota.workers.tasks.registry import InvalidTask, Registry, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.library.declaration import Version
    from rota.workers.tasks.registry import RunsIn

_DECLARED = "app:"


class Collected:
    """Everything is checked as it comes in: what cannot be is an error where it is written."""

    def __init__(self, app: str) -> None:
        self.app = app
        self.queue = naming.queue_name(app)
        """Of tasks that name no other."""
        self.registry = Registry()
        self._items: dict[str, Declared] = {}

    def declaration(self, *, version: Version | None, prune: bool) -> Declaration:
        """All of it, for the database."""
        items = tuple(self._items.values())
        queues = {spec.name: spec.queue for spec in self.registry}
        return Declaration(self.app, items, version=version, prune=prune, queues=queues)

    def spec(
        self,
        function: Callable[..., Any],
        *,
        name: str | None,
        queue: str | None,
        runs_in: RunsIn | None,
    ) -> TaskSpec:
        """The function as a task that workers know."""
        place = naming.where(function)
        name = name or naming.task_name(function)
        if name is None:
            raise InvalidDeclaration(
                f"{place}: expected a function with a name, got one without: say name=…",
                field="name",
            )
        try:
            spec = TaskSpec.of(function, name=name, queue=queue or self.queue, runs_in=runs_in)
            return self.registry.add(spec)
        except (InvalidTask, InvalidTarget) as error:
            raise InvalidDeclaration(f"{place}: {error}") from error

    def add_task(self, spec: TaskSpec, policies: Mapping[str, Any]) -> str:
        """Declare the schedule that holds a task's policies; its key."""
        if policies.get("overlap_policy") not in {None, "allow"}:
            raise InvalidDeclaration(
                f"{naming.where(spec.function)}: expected no overlap_policy of a task, whose runs "
                "are each their own, got one: say it to a schedule, or enqueue with key=…",
                field="overlap_policy",
            )
        given = {**fields_of(policies), "overlap_policy": "allow", "on_demand": True}
        key = task_key(spec.name)
        self._add(spec, key, spec.name, given, is_task=True)
        return key

    def add_schedule(
        self,
        spec: TaskSpec,
        trigger: Mapping[str, Any],
        policies: Mapping[str, Any],
        *,
        key: str | None,
        name: str | None,
    ) -> str:
        """Declare a schedule of a task; its key: as given, or as the function is called."""
        called = naming.function_name(spec.function) or spec.name
        key = key or name or called
        self._add(spec, key, name or key, {**fields_of(policies), **trigger})
        return key

    def add_saga(
        self,
        steps: list[dict[str, Any]],
        trigger: Mapping[str, Any],
        policies: Mapping[str, Any],
        *,
        key: str,
        place: str,
    ) -> None:
        """Declare a schedule of steps."""
        given = {"overlap_policy": "allow", **fields_of(policies), **trigger, "steps": steps}
        self._keep(key, key, given, place)

    def _add(
        self,
        spec: TaskSpec,
        key: str,
        name: str,
        given: Mapping[str, Any],
        *,
        is_task: bool = False,
    ) -> None:
        description = naming.summary(spec.function)
        usual = {} if description is None else {"description": description}
        target = {"job_type": spec.name, "queue": spec.queue}
        place = naming.where(spec.function)
        self._keep(key, name, {**usual, **given, **target}, place, is_task=is_task)

    def _keep(
        self, key: str, name: str, given: Mapping[str, Any], place: str, *, is_task: bool = False
    ) -> None:
        tags = [*_tags(given, place), f"{_DECLARED}{self.app}"]
        whole = {**given, "key": key, "name": name, "tags": tags}
        item = Declared(key, whole, place, is_task)
        _check(item)
        earlier = self._items.get(key)
        if earlier is not None and earlier.fields.get("job_type") != whole.get("job_type"):
            raise InvalidDeclaration(
                f"{place}: expected a key of its own, got {key!r}, which is that of "
                f"{earlier.where}: give one of them key=…",
                field="key",
            )
        if earlier is not None and not is_task and earlier.fields != whole:
            raise InvalidDeclaration(
                f"{place}: expected a key for each of its schedules, got {key!r} twice: "
                "give one of them key=…",
                field="key",
            )
        self._items[key] = item


def trigger_of(
    given: object, *, after: object, on: str | None, timezone: str | None
) -> dict[str, Any]:
    """The fields that say when: exactly one of `given` and `after`."""
    if (given is None) == (after is None):
        got = "neither" if given is None else "both"
        raise ValueError(f"expected when it runs, or after=…, got {got}")
    if after is None and on is not None:
        raise ValueError(f"expected on=… only beside after=…, got {on!r}")
    fields = dict[str, Any](parse.field(given)) if after is None else {"after": _after(after, on)}
    return fields if timezone is None else {**fields, "timezone": timezone}


def _after(after: object, on: str | None) -> dict[str, str]:
    key = cast("Task[..., Any]", after).key if isinstance(after, Task) else after
    if not isinstance(key, str):
        got = type(after).__name__  # pyright: ignore[reportUnknownArgumentType]
        raise TypeError(f"expected after=… to be a task, or the key of a schedule, got {got}")
    return {"key": key, "on": on or "succeeded"}


def _tags(given: Mapping[str, Any], place: str) -> list[str]:
    tags: Any = given.get("tags", [])
    if not isinstance(tags, list):
        raise InvalidDeclaration(
            f"{place}: expected tags to be a list of texts, got {type(tags).__name__}", field="tags"
        )
    return cast("list[str]", tags)


def _check(item: Declared) -> None:
    """Read it as it will be read when it is stored; an instant that has passed may stay."""
    try:
        schedule_fields.read(item.fields, now=SystemClock().now(), require_future=False)
    except InvalidSchedule as error:
        raise InvalidDeclaration(f"{item.where}: {error.message}", field=error.field) from error
