"""`/v1/sign-in-links`: a link to the dashboard for whoever has a key, without showing the key."""

from datetime import datetime

import msgspec
from litestar import Response, post

from rota.api import access, bodies
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, once
from rota.db import Tx
from rota.tenants import sessions

_UNSEEN = {"Cache-Control": "no-store"}


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that signs its bearer in once, with the rights of the key it was made with."""

    path: str
    """At the address of the server: `/sign-in?token=…`."""
    expires_at: datetime


@post("/v1/sign-in-links", opt=access.needs("read"))
async def create_sign_in_link(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[bytes]:
    """Make a link. Its session ends with the key."""
    await bodies.require_none(request)

    async def work(tx: Tx) -> Done:
        token = await sessions.new_token(tx, caller)
        if token is None:
            raise access.unknown_key()
        link = SignInLink(path=f"/sign-in?token={token.text}", expires_at=token.expires_at)
        return Done(link, 201, _UNSEEN)

    # Not repeatable: a link whose commit is in doubt must not be shown as if it were good.
    return await once(request, engine, caller, work, sealed=True)


ROUTES = (create_sign_in_link,)
