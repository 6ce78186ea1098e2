"""Errors, as pages: what happened, in a sentence, and where to go from there."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from litestar import Request, Response
from litestar.exceptions import HTTPException

from rota.dashboard import rendering
from rota.dashboard.events import PageFailed
from rota.dashboard.refusals import NotSignedIn, PageRefused
from rota.errors import CallerError, TemporaryError
from rota.events import Bus
from rota.tenants.request_pace import TooManyRequests
from rota.time_slicer import TooManyAtOnce

_AWAY = "The database is away or busy: try again in a moment."
_FAULT = "A fault of the server; it has been logged."
# A commit whose answer was lost may have been made.
_DOUBT = " It may be that your change was made all the same: look first."

AnyRequest = Request[Any, Any, Any]


def handler(bus: Bus) -> Callable[[AnyRequest, Exception], Response[Any]]:
    """The one exception handler of all pages; faults are published on `bus`."""

    def handle(request: AnyRequest, error: Exception) -> Response[Any]:
        if isinstance(error, NotSignedIn):
            return to_the_door(request)
        status, detail = read(error)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, TemporaryError):
            bus.publish(PageFailed(method=request.method, path=request.scope["path"], error=error))
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and request.method not in ("GET", "HEAD"):
            detail += _DOUBT
        scope: dict[str, Any] = dict(request.scope)
        shown = rendering.page(
            "trouble.html", visitor=scope.get("auth"), code=status, detail=detail
        )
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            # There is more of the body than was read, so the connection cannot be used again.
            shown.headers["Connection"] = "close"
        if isinstance(error, TooManyRequests | TooManyAtOnce):
            shown.headers["Retry-After"] = str(error.retry_after)
        return shown

    return handle


def to_the_door(request: AnyRequest) -> Response[Any]:
    """Sign in first, then back here: but only to a page, never into a change or elsewhere."""
    if request.headers.get("accept") == "text/event-stream":
        return Response(None, status_code=HTTPStatus.UNAUTHORIZED)
    if request.method != "GET" or request.url.path == "/":
        return rendering.go_to("/sign-in")
    back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return rendering.go_to(f"/sign-in?next={quote(back)}")


def read(error: Exception) -> tuple[HTTPStatus, str]:
    """What to tell a person about an error."""
    if isinstance(error, PageRefused):
        return error.status, error.detail
    if isinstance(error, HTTPException):
        return HTTPStatus(error.status_code), error.detail
    if isinstance(error, TooManyRequests | TooManyAtOnce):
        return HTTPStatus.TOO_MANY_REQUESTS, _sentence(error)
    if isinstance(error, CallerError):
        return HTTPStatus.BAD_REQUEST, str(error)
    if isinstance(error, TemporaryError):
        return HTTPStatus.SERVICE_UNAVAILABLE, _AWAY
    return HTTPStatus.INTERNAL_SERVER_ERROR, _FAULT


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
