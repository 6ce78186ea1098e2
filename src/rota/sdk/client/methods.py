"""From a route to a method: of a client that waits, and of one that is awaited.

A route is written once, as a function that gives a call, a listing or a bulk. Its parameters become
the method's; what a type checker, an editor and `help` show of a method is what its route says.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rota.sdk.client.errors import RotaApiError, Unreachable
from rota.sdk.client.listing import AsyncItems, AsyncSender, Items, Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from rota.sdk.client.bulk import Bulk
    from rota.sdk.client.call import Call, Listing
    from rota.sdk.client.schedules import BulkResult

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., Any]")


def calls(route: Callable[P, Call[T]]) -> Callable[Concatenate[Sender, P], T]:
    """A method that gives the answer."""

    def method(self: Sender, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(route(*args, **kwargs))

    return _dressed(method, route, "{}")


def awaits(
    route: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, T]]:
    """A method whose answer is awaited."""

    async def method(self: AsyncSender, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(route(*args, **kwargs))

    return _dressed(method, route, "{}")


def lists(route: Callable[P, Listing[T]]) -> Callable[Concatenate[Sender, P], Items[T]]:
    """A method that gives an iterator."""

    def method(self: Sender, *args: P.args, **kwargs: P.kwargs) -> Items[T]:
        return Items(self, route(*args, **kwargs))

    return _dressed(method, route, "Items[{}]")


def async_lists(
    route: Callable[P, Listing[T]],
) -> Callable[Concatenate[AsyncSender, P], AsyncItems[T]]:
    """A method that gives an asynchronous iterator; it is not awaited itself."""

    def method(self: AsyncSender, *args: P.args, **kwargs: P.kwargs) -> AsyncItems[T]:
        return AsyncItems(self, route(*args, **kwargs))

    return _dressed(method, route, "AsyncItems[{}]")


def sends(route: Callable[P, Bulk]) -> Callable[Concatenate[Sender, P], BulkResult]:
    """A method that makes several requests, one after another."""

    def method(self: Sender, *args: P.args, **kwargs: P.kwargs) -> BulkResult:
        bulk = route(*args, **kwargs)
        try:
            for call in bulk.calls():
                bulk.add(self.send(call))
        except (RotaApiError, Unreachable) as error:
            bulk.explain(error)
            raise
        return bulk.result

    return _dressed(method, route, "BulkResult")


def async_sends(
    route: Callable[P, Bulk],
) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, BulkResult]]:
    """A method that makes several requests, one after another, and is awaited."""

    async def method(self: AsyncSender, *args: P.args, **kwargs: P.kwargs) -> BulkResult:
        bulk = route(*args, **kwargs)
        try:
            for call in bulk.calls():
                bulk.add(await self.send(call))
        except (RotaApiError, Unreachable) as error:
            bulk.explain(error)
            raise
        return bulk.result

    return _dressed(method, route, "BulkResult")


def _dressed(method: F, route: Callable[..., Any], answer: str) -> F:
    """The method with its route's name, words and parameters."""
    signature = inspect.signature(route)
    _, _, inner = str(signature.return_annotation).partition("[")
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    shown: Any = method
    shown.__name__ = route.__name__
    shown.__qualname__ = route.__qualname__
    shown.__doc__ = route.__doc__
    shown.__signature__ = signature.replace(
        parameters=[own, *signature.parameters.values()],
        return_annotation=answer.format(inner.removesuffix("]")),
    )
    return method
