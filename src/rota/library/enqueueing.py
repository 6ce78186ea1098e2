"""Asking for runs of a task: now or later, one or many, in a transaction of one's own or not.

The options (`delay`, `at`, `priority`, `key`, `connection`) go beside the function's own arguments;
a name that the function has itself is the function's, and then the option is given by `options`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar, cast, overload

from rota.errors import InvalidInput
from rota.library import asking, connections
from rota.library.handles import Handle, Handles
from rota.queue.enqueue import EnqueueRequest, enqueue_alone
from rota.workers.tasks import arguments
from rota.workers.tasks.exceptions import length
from rota.workers.tasks.values import show

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from rota.library.app import Rota
    from rota.workers.tasks.registry import TaskSpec

P = ParamSpec("P")
R = TypeVar("R")

MAX_DELAY: Final = timedelta(days=100 * 366)
"""Beyond this, somebody has mistaken the unit; and the database's calendar ends somewhere."""

_OPTIONS = frozenset({"delay", "at", "priority", "key", "connection"})
_NO_OPTIONS: Mapping[str, Any] = {}


def _later(delay: timedelta | float | str) -> timedelta:
    found = length(delay)
    if found > MAX_DELAY:
        raise InvalidInput(f"expected a delay of at most 100 years, got {found}", field="delay")
    return found


def _is_instant(value: Any) -> bool:
    # Of other types, a date among them, nobody knows which instant is meant.
    return isinstance(value, datetime) and value.utcoffset() is not None


def _is_priority(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200 and "\0" not in value


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a run is wanted."""

    delay: timedelta | float | str | None = None
    at: datetime | None = None
    priority: int | None = None
    key: str | None = None
    connection: Any = None

    def __post_init__(self) -> None:
        if self.delay is not None and self.at is not None:
            raise InvalidInput("expected a delay or an instant (at), got both", field="at")
        self._require("at", "an aware instant, such as datetime(…, tzinfo=UTC)", _is_instant)
        self._require("priority", "a priority from 0 to 9", _is_priority)
        self._require("key", "a key of 1 to 200 characters, none of them NUL", _is_key)

    def _require(self, name: str, what: str, fits: Callable[[Any], bool]) -> None:
        value = getattr(self, name)
        if value is not None and not fits(value):
            raise InvalidInput(f"expected {what}, got {show(value)}", field=name)

    def order(
        self, task: str, payloads: Sequence[bytes | None], tenant_id: UUID | None
    ) -> EnqueueRequest:
        return EnqueueRequest(
            task=task,
            payloads=payloads,
            delay=None if self.delay is None else _later(self.delay),
            at=None if self.at is None else self.at.astimezone(UTC),
            priority=self.priority,
            key=self.key,
            tenant_id=tenant_id,
        )


class Enqueueable(Generic[P, R]):
    """What can be asked for: a task, or a task with options (`options`)."""

    rota: Rota
    spec: TaskSpec
    key: str

    _options: Options = Options()

    @overload
    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]: ...
    @overload
    def enqueue(
        self,
        *args: Any,
        delay: timedelta | float | str,
        at: None = None,
        priority: int | None = None,
        key: str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> Handle[R]: ...
    @overload
    def enqueue(
        self,
        *args: Any,
        at: datetime,
        priority: int | None = None,
        key: str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> Handle[R]: ...
    @overload
    def enqueue(
        self,
        *args: Any,
        priority: int,
        key: str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> Handle[R]: ...
    @overload
    def enqueue(self, *args: Any, key: str, connection: Any = None, **kwargs: Any) -> Handle[R]: ...
    @overload
    def enqueue(self, *args: Any, connection: Any, **kwargs: Any) -> Handle[R]: ...
    def enqueue(self, *args: Any, **kwargs: Any) -> Handle[R]:
        """Have a worker run it, once, with these arguments.

        `delay` ("10m", a timedelta, seconds) or `at` (an aware datetime) for later. `priority` from
        0 to 9, of which 9 goes first. While a run of the same `key` is live there is no other: its
        handle is returned. `connection` is your own, in a transaction of yours: the run is there if
        that commits, and was never there if not.

        In async code, `await` it. In sync code it is done when this returns.
        """
        options, kwargs = self._apart(kwargs)
        payload = arguments.write(self.spec.signature, args, kwargs)
        ids, entering = self._enter([payload], options)
        return Handle(self.rota, self.spec, ids[0] if ids else None, entering)

    def enqueue_many(self, calls: Iterable[Any]) -> Handles[R]:
        """Have workers run it many times: a tuple (positional arguments), a dict (named ones) or
        anything else (one argument) for each run. All of them are entered, or none.

        In async code, `await` it. Options are given by `options`.
        """
        if self._options.key is not None:
            raise InvalidInput("expected a key with one run, got it with many", field="key")
        signature = self.spec.signature
        payloads = [arguments.write(signature, *_arguments(call)) for call in calls]
        ids, entering = self._enter(payloads, self._options)
        return Handles(self.rota, self.spec, ids, entering)

    def options(
        self,
        *,
        delay: timedelta | float | str | None = None,
        at: datetime | None = None,
        priority: int | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Enqueueable[P, R]:
        """The same task with these options, whatever its arguments are called."""
        made: Enqueueable[P, R] = Enqueueable()
        made.rota, made.spec, made.key = self.rota, self.spec, self.key
        made._options = Options(
            delay=delay, at=at, priority=priority, key=key, connection=connection
        )
        return made

    def _apart(self, kwargs: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
        """The options among the keyword arguments, and the rest."""
        own = self.spec.signature.named
        given = {name: kwargs[name] for name in kwargs if name in _OPTIONS and name not in own}
        if not given:
            return self._options, kwargs
        rest = {name: each for name, each in kwargs.items() if name not in given}
        return replace(self._options, **given), rest

    def _enter(
        self, payloads: Sequence[bytes | None], options: Options
    ) -> tuple[Sequence[UUID] | None, Awaitable[Sequence[UUID]] | None]:
        """The ids of the runs, or what gives them."""
        stand_in = self.rota.stand_in
        if stand_in is not None:
            return stand_in.enter(options.order(self.key, payloads, None)), None
        if options.connection is not None:
            order = options.order(self.key, payloads, self._tenant_id())
            entered = connections.enter(options.connection, order)
        else:
            entered = asking.answer(
                self.rota,
                lambda running: enqueue_alone(
                    running.db, options.order(self.key, payloads, running.tenant.id)
                ),
            )
        if isinstance(entered, list):
            return entered, None
        return None, cast("Awaitable[Sequence[UUID]]", entered)

    def _tenant_id(self) -> UUID | None:
        """For a connection of the caller's: nothing is asked of ours if that can be helped."""
        if self.rota.is_running:
            return self.rota.running.tenant.id
        return None if self.rota.tenant is None else asking.find(self.rota).tenant.id


def _arguments(call: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    if isinstance(call, tuple):
        return cast("tuple[Any, ...]", call), _NO_OPTIONS
    if isinstance(call, dict):
        return (), cast("dict[str, Any]", call)
    return (call,), _NO_OPTIONS
