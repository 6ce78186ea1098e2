"""What a refused request gets: `application/problem+json` (RFC 9457), whatever refused it.

Every problem has a `detail`, a sentence that says what was expected and what was got; bad fields
are listed in `errors`, by the names the caller used. A fault of ours says nothing of our insides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException, NotFoundException, ValidationException

from rota.errors import CallerError, InvalidInput, TemporaryError
from rota.events import Event
from rota.schedules.calendars.service import CalendarInUse, NoSuchCalendar, TooManyCalendars
from rota.schedules.errors import (
    CannotReplay,
    DuplicateKey,
    InvalidSchedule,
    IsAMonitor,
    NoSuchSchedule,
    QuotaReached,
    VersionChanged,
)
from rota.tenants.administer import NoSuchTenant, TenantInTheWay
from rota.tenants.create_pace import TooFast
from rota.tenants.request_pace import TooManyRequests
from rota.tenants.secrets import NoSecretKeys
from rota.tenants.service import LastAdminKey
from rota.time_slicer import TooManyAtOnce
from rota.watch.monitor_pings import NotAMonitor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar import Request

    from rota.events import Bus

MEDIA_TYPE = "application/problem+json"

_PATH = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>[^`]*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]*)`")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every refusal."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []


class Refused(CallerError):
    """A request that is refused: its status, a sentence, and the fields at fault."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        errors: tuple[FieldError, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed(Event):
    """A request ended in an error that nobody foresaw: a fault of ours."""

    method: str
    path: str
    error: Exception


def not_found(what: str) -> Refused:
    """Nothing of the caller's has this id. Always the same words: what others own does not show."""
    return Refused(HTTPStatus.NOT_FOUND, f"there is no {what} of yours with this id")


def bad_field(field: str, message: str) -> Refused:
    """One field that cannot be taken."""
    return Refused(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"{field}: {message}",
        errors=(FieldError(field, message),),
    )


def shown(text: str) -> str:
    """Text from outside, quoted and cut to a length fit for a sentence."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}… ({len(text)} characters)"


def refusal(error: Exception) -> Refused | None:
    """What the caller hears of this error; None when it is a fault of ours."""
    match error:
        case Refused():
            known = error
        case HTTPException():
            known = _from_http(error)
        case msgspec.ValidationError():
            known = bad_field(*field_and_message(error))
        case CallerError():
            known = _from_caller(error)
        case TemporaryError():
            known = _AWAY
        case NoSecretKeys():
            known = Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        case _:
            known = None
    return known


def field_and_message(error: msgspec.ValidationError) -> tuple[str, str]:
    """The field that did not fit, as a path such as `items[3].tags`, and what was expected."""
    text = str(error)
    path = ""
    if match := _PATH.fullmatch(text):
        text, path = match["what"], match["path"]
    for pattern, message in ((_UNKNOWN, "there is no such field"), (_MISSING, "it is required")):
        if found := pattern.fullmatch(text):
            return ".".join(filter(None, (path, found["field"]))), message
    return path or "body", text[:1].lower() + text[1:].replace("`", "")


def to_problem(refused: Refused) -> Problem:
    """The refusal as a body."""
    return Problem(
        title=refused.status.phrase,
        status=refused.status.value,
        detail=refused.detail,
        errors=list(refused.errors),
    )


def respond(refused: Refused) -> Response[Problem]:
    """The answer that carries a problem."""
    return Response(
        to_problem(refused),
        status_code=refused.status.value,
        media_type=MEDIA_TYPE,
        headers=refused.headers,
    )


Handler = Callable[["Request[Any, Any, Any]", Exception], "Response[Any]"]


def handler(bus: Bus, *, page: Handler | None = None) -> Handler:
    """The one exception handler of the application; faults are published on `bus`.

    `page` shows an error to a person: to a browser that went where nothing is.
    """

    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        if page is not None and _is_lost(request, error):
            return page(request, error)
        known = refusal(error)
        if known is None:
            path = request.scope["path"]
            bus.publish(RequestFailed(method=request.method, path=path, error=error))
            sentence = "a fault of the server; it has been logged"
            known = Refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
        return respond(known)

    return handle


def _is_lost(request: Request[Any, Any, Any], error: Exception) -> bool:
    """Whether somebody looks for a page, and not a program for the API."""
    return (
        isinstance(error, NotFoundException)
        and "text/html" in request.headers.get("accept", "")
        and not request.scope["path"].startswith("/v1")
    )


_AWAY = Refused(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the database is away or busy: try again, and look first if the request was not to be repeated",
    headers={"Retry-After": "1"},
)


_CALLER_STATUSES: dict[type[CallerError], HTTPStatus] = {
    DuplicateKey: HTTPStatus.CONFLICT,
    CannotReplay: HTTPStatus.CONFLICT,
    CalendarInUse: HTTPStatus.CONFLICT,
    NoSuchCalendar: HTTPStatus.NOT_FOUND,
    TooManyCalendars: HTTPStatus.FORBIDDEN,
    NotAMonitor: HTTPStatus.CONFLICT,
    IsAMonitor: HTTPStatus.CONFLICT,
    TenantInTheWay: HTTPStatus.CONFLICT,
    LastAdminKey: HTTPStatus.CONFLICT,
    QuotaReached: HTTPStatus.FORBIDDEN,
    VersionChanged: HTTPStatus.PRECONDITION_FAILED,
    TooFast: HTTPStatus.TOO_MANY_REQUESTS,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    TooManyAtOnce: HTTPStatus.TOO_MANY_REQUESTS,
}


def _from_caller(error: CallerError) -> Refused:
    """The engine's own refusals."""
    match error:
        case NoSuchSchedule():
            return not_found("schedule")
        case NoSuchTenant():
            return not_found("tenant")
        case _:
            status = _CALLER_STATUSES.get(type(error), HTTPStatus.UNPROCESSABLE_ENTITY)
            headers: dict[str, str] = {}
            if isinstance(error, TooFast):
                headers["Retry-After"] = f"{error.retry_after.total_seconds():.0f}"
            if isinstance(error, TooManyRequests | TooManyAtOnce):
                headers["Retry-After"] = str(error.retry_after)
            return Refused(status, str(error), errors=_fields_at_fault(error), headers=headers)


def _fields_at_fault(error: CallerError) -> tuple[FieldError, ...]:
    match error:
        case InvalidSchedule():
            return tuple(FieldError(each.field, each.message) for each in error.problems)
        case InvalidInput(field=str(field)):
            return (FieldError(field, error.message),)
        case DuplicateKey():
            return (FieldError("key", str(error)),)
        case _:
            return ()


def _from_http(error: HTTPException) -> Refused | None:
    """The framework's own refusals, in sentences."""
    if isinstance(error, ValidationException):
        return Refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.detail)
    status = HTTPStatus(error.status_code)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    headers = {key: value for key, value in (error.headers or {}).items() if value}
    sentences = {
        HTTPStatus.NOT_FOUND: "there is nothing at this address; /docs lists what there is",
        HTTPStatus.METHOD_NOT_ALLOWED: f"expected one of {headers.get('allow', 'other methods')}",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the body is larger than this address takes",
    }
    return Refused(status, sentences.get(status, error.detail), headers=headers)
