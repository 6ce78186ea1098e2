"""The short way to an operation that is called most: past the framework's layers, not past ours.

For each request Litestar routes, copies the handler for its guards, resolves dependencies and makes
two objects of an answer: a seventh of the CPU time of a single create (docs/decisions/create.md).
Here the same guards and the same handler are called, and errors become the same answers. Only a
request that the framework would not look at twice comes this way; any other is left to it.

Whatever is sent, the answer equals the framework's: a property in `tests/api/test_direct.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from litestar import MediaType, Request, Response
from litestar.datastructures import Headers

from rota.api import access

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar import Litestar
    from litestar.types import HTTPScope, Receive, Send

    from rota.api.engine import Engine

# Other hosts there may be; which of them are valid is the framework's to say.
_HOST: Final = re.compile(rb"[0-9A-Za-z.:\[\]-]*")


class DirectRoute:
    """One operation at one address without parameters; its handler takes `engine` and `caller`."""

    def __init__(self, app: Litestar, engine: Engine, *, method: str, path: str) -> None:
        self._app: Any = app
        self._engine = engine
        self._handler = _handler(app, method, path)
        self._guards = self._handler.resolve_guards()
        self._path = path
        self._headers = tuple(
            (header.name, header.value) for header in self._handler.resolve_response_headers()
        )

    def takes(self, scope: Mapping[str, Any]) -> bool:
        """Whether there is nothing about the request's head that the framework would refuse."""
        if scope.get("root_path"):
            return False
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        return _HOST.fullmatch(host) is not None

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Answer a request that `takes` has let through."""
        handler = self._handler
        scope["litestar_app"] = self._app
        scope["route_handler"] = handler
        scope["path_template"] = self._path
        scope["path_params"] = {}
        request = _Request(scope, receive, send)
        try:
            for guard in self._guards:
                await guard(request, handler)
            caller = access.caller(request, self._engine)
            answer = await handler.fn(request=request, engine=self._engine, caller=caller)
        except Exception as error:  # noqa: BLE001 - as the framework does
            await self._fail(request, error)
            return
        await self._answer(request, answer)

    async def _answer(self, request: Request[Any, Any, Any], answer: Response[Any]) -> None:
        if not _is_plain(answer):
            found = await self._handler.to_response(app=self._app, data=answer, request=request)
            await found(request.scope, request.receive, request.send)
            return
        body: bytes = answer.content
        head = _encoded((*self._headers, *answer.headers.items()))
        await request.send(
            {
                "type": "http.response.start",
                "status": answer.status_code or self._handler.status_code,
                "headers": [*head, (b"content-length", b"%d" % len(body))],
            }
        )
        await request.send({"type": "http.response.body", "body": body, "more_body": False})

    async def _fail(self, request: Request[Any, Any, Any], error: Exception) -> None:
        answer: Any = self._app.exception_handlers[Exception](request, error)
        encoders = self._handler.resolve_type_encoders()
        found = answer.to_asgi_response(app=None, request=request, type_encoders=encoders)
        await found(request.scope, request.receive, request.send)


class _Request(Request[Any, Any, Any]):
    """Litestar's, which looks its headers up anew whenever one of them is asked for."""

    __slots__ = ("_headers",)

    def __init__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send)
        self._headers = Headers(list(scope["headers"]))

    @property
    def headers(self) -> Headers:
        return self._headers


def _handler(app: Litestar, method: str, path: str) -> Any:
    """The handler that the framework would call."""
    routes: list[Any] = [route for route in app.routes if route.path == path]
    [found] = [
        each for route in routes for each in route.route_handlers if method in each.http_methods
    ]
    return found


def _is_plain(answer: Response[Any]) -> bool:
    """Whether it is JSON that has been written, and nothing else."""
    return (
        isinstance(answer.content, bytes)
        and answer.media_type is MediaType.JSON
        and not answer.cookies
        and answer.background is None
    )


@lru_cache(maxsize=256)
def _encoded(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Headers of JSON as the server takes them."""
    named = {**dict(headers), "content-type": MediaType.JSON.value}
    return tuple(
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in named.items()
    )
