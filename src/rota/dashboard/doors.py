"""Who may see a page: one guard for all of them, which refuses what no page has allowed.

A page names the scope it needs in its `opt`. Nobody signed in is sent to the door; somebody with
too few rights is told. A change (any method but GET and HEAD) must come from a form of ours.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from rota.dashboard import cookies, forgery
from rota.dashboard.desk import Desk
from rota.dashboard.refusals import NotSignedIn, PageRefused
from rota.tenants import sessions
from rota.tenants.tenant import Principal

Needs = Literal["read", "write", "admin", "operator"]
Keeper = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], Awaitable[None]]

_OPT: Final = "rota_page"
_ANYBODY: Final = "anybody"
ANYBODY: Final[dict[str, str]] = {_OPT: _ANYBODY}
"""For the door itself, and what stands around it."""

_HARMLESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 2_000


def needs(scope: Needs) -> dict[str, str]:
    """For a page that takes a session with this scope."""
    return {_OPT: scope}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who looks at a page."""

    principal: Principal
    session: sessions.Session
    csrf: str
    """What forms of theirs carry."""

    def may(self, scope: Needs) -> bool:
        if scope == "operator":
            return self.principal.is_operator
        return self.principal.may(scope)


def keeper(desk: Desk) -> Keeper:
    """Lets a request through, with its visitor noted, or refuses it.

    A function and not an object: Litestar copies what guards a router, and a database cannot be.
    """

    async def keep(
        connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
    ) -> None:
        _require_text(connection)
        changes = isinstance(connection, Request) and connection.method not in _HARMLESS
        if changes:
            _require_our_own(connection)
        scope = handler.opt.get(_OPT)
        if scope == _ANYBODY:
            return
        visitor = await _visitor(desk, connection)
        if visitor is None:
            raise NotSignedIn
        await _pace(desk, visitor, scope)
        if scope is None or not visitor.may(scope):
            raise PageRefused(
                HTTPStatus.FORBIDDEN,
                f"This takes a key with the scope {scope}, and you signed in with one without it.",
            )
        if changes:
            await _require_token(connection, visitor)
        connection.scope["auth"] = visitor

    return keep


async def _visitor(desk: Desk, connection: ASGIConnection[Any, Any, Any, Any]) -> Visitor | None:
    secret = connection.cookies.get(cookies.name(secure=is_secure(desk, connection)))
    if not secret:
        return None
    session = await desk.db.run(lambda tx: sessions.find(tx, secret), read_only=True)
    if session is None:
        return None
    return Visitor(principal=session.principal, session=session, csrf=forgery.token(session.secret))


def visitor(request: Request[Any, Any, Any]) -> Visitor:
    """Who looks, as the doorkeeper found."""
    return request.scope["auth"]


async def _pace(desk: Desk, visitor: Visitor, scope: str | None) -> None:
    """Count the request as the API does (S12); `TooManyRequests` when it is one too many.

    Before its rights are looked at, and not for what only the operator does: a limit that was set
    too low must not keep anybody from taking it back.
    """
    if desk.pace is not None and not (scope in ("admin", "operator") and visitor.may("operator")):
        await desk.pace.spend(visitor.principal.tenant)


def is_secure(desk: Desk, connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether this connection's browser takes a `Secure` cookie."""
    url = connection.url
    return cookies.is_secure(url.scheme, url.hostname or "", public_url=desk.public_url)


def _require_text(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    # No text of the database's has one, and asking it for such a text is an error of ours.
    if b"%00" in connection.scope["query_string"]:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "Expected text in the address, got a zero byte.")


def _require_our_own(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    headers = connection.headers
    host = headers.get("host", "")
    if not forgery.same_origin(headers.get("origin"), headers.get("sec-fetch-site"), host):
        raise PageRefused(
            HTTPStatus.FORBIDDEN, "This request came from another site, and nothing was changed."
        )
    # A form of another site can send text/plain, which might be read as something else here.
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise PageRefused(
            HTTPStatus.FORBIDDEN, f"Expected a form ({_FORM}), got {kind[:60] or 'nothing'}."
        )


async def _require_token(connection: ASGIConnection[Any, Any, Any, Any], visitor: Visitor) -> None:
    shown = connection.headers.get(forgery.HEADER)
    if shown is None and isinstance(connection, Request):
        if (await connection.body()).count(b"&") > _MAX_FIELDS:
            raise PageRefused(
                HTTPStatus.BAD_REQUEST, f"Expected at most {_MAX_FIELDS:,} fields, got more."
            )
        form = await connection.form()
        shown = str(form.get(forgery.FIELD, ""))
    if not forgery.matches(visitor.session.secret, shown or ""):
        raise PageRefused(
            HTTPStatus.FORBIDDEN,
            "This form belongs to another session, and nothing was changed. "
            "Go back, reload the page and try again.",
        )
