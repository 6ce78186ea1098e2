"""The door: signing in with a key or a link that works once, and out again.

Opening a link signs nobody in and uses nothing up: mail scanners and other sites open links, too.
The button on the page does, by a form that only this browser's page can send.
"""

import re
import secrets
from http import HTTPStatus
from typing import Any, Final

from litestar import Response, get, post

from rota.dashboard import cookies, doors, forgery, rendering
from rota.dashboard.desk import Desk
from rota.dashboard.forms import TINY, Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.db import Tx
from rota.tenants import sessions

_BYTES: Final = 32
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

_STALE: Final = "This form was out of date, or came from another site. Nothing happened: try again."
_USED: Final = "This link was used already, or is too old."
_UNKNOWN: Final = "No such key, or it is revoked or has expired."


@get("/sign-in", opt=doors.ANYBODY)
async def door(request: AnyRequest, desk: TheDesk) -> Response[str]:
    """Looking at it changes nothing: a token in the address is used by the form alone."""
    query = request.query_params
    token, back = query.get("token", ""), _within(query.get("next", ""))
    return _door(desk, request, token=token, back=back)


@post("/sign-in", opt=doors.ANYBODY, request_max_body_size=TINY)
async def sign_in(request: AnyRequest, desk: TheDesk) -> Response[Any]:
    """With a key, or with the token of a link."""
    form = await Form.read(request)
    back, token = _within(form.text("next")), form.text("token")
    if not forgery.matches(_nonce(desk, request), form.text(forgery.FIELD)):
        return _door(desk, request, token=token, back=back, wrong=_STALE)
    session = await _begin(desk, key=form.text("key"), token=token)
    if session is None:
        return _door(desk, request, back=back, wrong=_USED if token else _UNKNOWN)
    secure = doors.is_secure(desk, request)
    begun = cookies.given(session.secret, secure=secure, lifetime=sessions.LIFETIME)
    return rendering.go_to(back, cookies=(begun, cookies.door_taken_back(secure=secure)))


@post("/sign-out", opt=doors.needs("read"))
async def sign_out(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """The session ends here and in the browser."""

    async def work(tx: Tx) -> None:
        await sessions.end(tx, visitor.session.secret)

    await desk.db.run(work, repeatable=True)
    return rendering.go_to(
        "/sign-in", cookies=(cookies.taken_back(secure=doors.is_secure(desk, request)),)
    )


ROUTES = (door, sign_in, sign_out)


async def _begin(desk: Desk, *, key: str, token: str) -> sessions.Session | None:
    if token:
        # Not repeatable: a token that was used is gone, whether or not we heard of it.
        return await desk.db.run(lambda tx: sessions.begin_with_token(tx, token))
    principal = await desk.authenticator.authenticate(key)
    if principal is None:
        return None
    return await desk.db.run(lambda tx: sessions.begin_with_key(tx, principal))


def _door(
    desk: Desk, request: AnyRequest, *, token: str = "", back: str = "/", wrong: str = ""
) -> Response[str]:
    # The same for all tabs: the form in each of them stays good.
    nonce = _nonce(desk, request) or secrets.token_urlsafe(_BYTES)
    return rendering.page(
        "sign_in.html",
        visitor=None,
        code=HTTPStatus.FORBIDDEN if wrong else HTTPStatus.OK,
        cookies=(cookies.door_given(nonce, secure=doors.is_secure(desk, request)),),
        csrf=forgery.token(nonce),
        token=token,
        back=back,
        wrong=wrong,
    )


def _nonce(desk: Desk, request: AnyRequest) -> str:
    """What the cookie of the door holds; empty when there is none of ours."""
    found = request.cookies.get(cookies.door_name(secure=doors.is_secure(desk, request)), "")
    return found if _NONCE.fullmatch(found) else ""


def _within(path: str) -> str:
    """A page of ours; anything else is the first page (`//elsewhere` is another site)."""
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if plain and path.isprintable() else "/"
