"""Facts, published by whoever knows them and heard by whoever asked.

The engine says what happened as a value of a subclass of `Event`, defined beside the code that
publishes it; logs, metrics, the live view and tests listen. A listener can never harm the engine:
what a handler raises is published as `HandlerFailed` and goes no further.

Handlers are plain functions, called in the order they subscribed, before `publish` returns. They
must be quick and must not wait. `publish` may be called from any thread; `subscribe` and what it
returns belong to one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

_log = logging.getLogger(__name__)

_Handler = Callable[[Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. Subclasses are frozen and carry values only, never live objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerFailed(Event):
    """A handler raised while hearing `event`; everybody else heard it all the same."""

    event: Event
    handler: str
    error: Exception


E = TypeVar("E", bound=Event)


class Bus:
    """Carries events from publishers to handlers; costs one look-up when nobody listens."""

    def __init__(self) -> None:
        self._routes = _Routes(())

    def subscribe(
        self,
        kind: type[E],
        handler: Callable[[E], None],
        *,
        unless: Callable[[type[Event]], bool] | None = None,
    ) -> Callable[[], None]:
        """Call `handler` with every event of `kind` or a subclass, from the next one on.

        Types for which `unless` is true are left out. Returns what ends the subscription; ending it
        twice is harmless.
        """
        subscription = _Subscription(kind, handler, unless)
        self._routes = _Routes((*self._routes.subscriptions, subscription))

        def unsubscribe() -> None:
            rest = tuple(s for s in self._routes.subscriptions if s is not subscription)
            self._routes = _Routes(rest)

        return unsubscribe

    def hears(self, kind: type[Event]) -> bool:
        """Whether anybody listens to this kind or to some of it.

        What happens for every firing need not even be put into words when nobody does.
        """
        return self._routes.hears(kind)

    def publish(self, event: Event) -> None:
        """Let every handler of the event hear it. Never raises what a handler raised."""
        for handler in self._routes.to(type(event)):
            try:
                handler(event)
            except Exception as error:  # noqa: BLE001 - a listener must not harm the engine
                self._report(event, handler, error)

    def _report(self, event: Event, handler: _Handler, error: Exception) -> None:
        name = getattr(handler, "__qualname__", type(handler).__qualname__)
        # A handler of HandlerFailed that fails would be told of its own failure for ever, and a
        # failure with no listener would vanish: both are logged here, where nothing can go wrong.
        if isinstance(event, HandlerFailed) or not self._routes.to(HandlerFailed):
            _log.error("event handler %s failed on %s", name, type(event).__name__, exc_info=error)
        else:
            self.publish(HandlerFailed(event=event, handler=name, error=error))


@dataclass(frozen=True, slots=True, eq=False)
class _Subscription:
    kind: type[Event]
    handler: _Handler
    unless: Callable[[type[Event]], bool] | None = None

    def wants(self, kind: type[Event]) -> bool:
        return issubclass(kind, self.kind) and not (self.unless and self.unless(kind))


class _Routes:
    """Who hears which type, worked out once per type.

    Replaced as a whole when a subscription comes or goes: a publisher in another thread, or one
    further up the stack, keeps the routes it started with.
    """

    def __init__(self, subscriptions: tuple[_Subscription, ...]) -> None:
        self.subscriptions = subscriptions
        self._known: dict[type[Event], tuple[_Handler, ...]] = {}
        self._heard: dict[type[Event], bool] = {}

    def to(self, kind: type[Event]) -> tuple[_Handler, ...]:
        handlers = self._known.get(kind)
        if handlers is None:
            handlers = tuple(each.handler for each in self.subscriptions if each.wants(kind))
            self._known[kind] = handlers
        return handlers

    def hears(self, kind: type[Event]) -> bool:
        heard = self._heard.get(kind)
        if heard is None:
            heard = any(
                each.wants(kind) or issubclass(each.kind, kind) for each in self.subscriptions
            )
            self._heard[kind] = heard
        return heard


class Recorder:
    """Remembers every event of a bus, so that a test waits for facts instead of for time."""

    patience: ClassVar[timedelta] = timedelta(seconds=10)
    """How long `wait_for` waits unless it says otherwise; it only bounds a hang."""

    def __init__(self, bus: Bus) -> None:
        self._events: list[Event] = []
        self._wakers: list[Callable[[], None]] = []
        self.close = bus.subscribe(Event, self._hear)

    def all(self, kind: type[E]) -> list[E]:
        """The events of `kind` heard so far, oldest first."""
        return [event for event in self._events if isinstance(event, kind)]

    async def wait_for(
        self,
        kind: type[E],
        *,
        where: Callable[[E], bool] = lambda _: True,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - says what was seen instead
    ) -> E:
        """The first event of `kind` that fits `where`, heard before or after the call.

        TimeoutError, with a count of what was heard instead, when none comes in time.
        """
        timeout = timeout or self.patience
        loop = asyncio.get_running_loop()
        heard = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(heard.set)

        self._wakers.append(wake)
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                return await self._search(kind, where, heard)
        except TimeoutError:
            raise TimeoutError(self._missed(kind, timeout)) from None
        finally:
            self._wakers.remove(wake)

    async def _search(self, kind: type[E], where: Callable[[E], bool], heard: asyncio.Event) -> E:
        seen = 0
        while True:
            # Cleared before looking: an event heard while we look sets it again.
            heard.clear()
            fresh = self._events[seen:]
            seen += len(fresh)
            for event in fresh:
                if isinstance(event, kind) and where(event):
                    return event
            await heard.wait()

    def _hear(self, event: Event) -> None:
        self._events.append(event)
        for wake in tuple(self._wakers):
            wake()

    def _missed(self, kind: type[Event], waited: timedelta) -> str:
        counts = Counter(type(event).__name__ for event in self._events)
        seen = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing"
        return f"expected a {kind.__name__} within {waited.total_seconds():g} s, heard {seen}"
