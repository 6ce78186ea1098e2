"""The door: signing in with a key or a one-time token, and out again."""

from http import HTTPStatus
from typing import Any

from litestar import Response, get, post

from rota.dashboard import cookies, doors, rendering
from rota.dashboard.desk import Desk
from rota.dashboard.forms import Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.db import Tx
from rota.tenants import sessions


@get("/sign-in", opt=doors.ANYBODY)
async def door(request: AnyRequest) -> Response[str]:
    """Looking at it changes nothing: a token in the address is used by the form alone."""
    query = request.query_params
    return _door(token=query.get("token", ""), back=_within(query.get("next", "")))


@post("/sign-in", opt=doors.ANYBODY)
async def sign_in(request: AnyRequest, desk: TheDesk) -> Response[Any]:
    """With a key, or with a token of `rota serve`."""
    form = await Form.read(request)
    back = _within(form.text("next"))
    session = await _begin(desk, key=form.text("key"), token=form.text("token"))
    if session is None:
        return _door(
            back=back,
            wrong="That token was used already, or is too old: sign in with an API key."
            if form.text("token")
            else "No such key, or it is revoked or has expired.",
        )
    secure = doors.is_secure(desk, request)
    return rendering.go_to(
        back, cookies=(cookies.given(session.secret, secure=secure, lifetime=sessions.LIFETIME),)
    )


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


def _door(*, token: str = "", back: str = "/", wrong: str = "") -> Response[str]:
    code = HTTPStatus.FORBIDDEN if wrong else HTTPStatus.OK
    return rendering.page(
        "sign_in.html", visitor=None, code=code, token=token, back=back, wrong=wrong
    )


def _within(path: str) -> str:
    """A page of ours; anything else is the first page (`//elsewhere` is another site)."""
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if plain and path.isprintable() else "/"
