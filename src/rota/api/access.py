"""Who may call: one guard for every route, which refuses what no route has allowed.

A route names the scope it needs in its `opt`; one that names none is refused, so a route added
without a thought is closed and not open. The key comes from the `Authorization` header and from
nowhere else: a cookie would be sent along by other sites.
"""

from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import SkipValidation

from rota.api.engine import Engine
from rota.api.problems import Refused
from rota.tenants.authenticate import Authenticator
from rota.tenants.tenant import DEFAULT_NAME, Principal, Scope, Via

_OPT: Final = "rota_scope"
_PUBLIC: Final = "public"

PUBLIC: Final[dict[str, str]] = {_OPT: _PUBLIC}
"""For a route that anybody may call."""

CLI_AGENT: Final = "rota-cli/"
"""How the User-Agent of the command line begins."""

_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="rota"'}


def needs(scope: Scope) -> dict[str, str]:
    """For a route that takes a key with this scope."""
    return {_OPT: scope}


def scope_of(opt: dict[str, Any]) -> str | None:
    """The scope that a route's `opt` asks for; None for a public one."""
    scope = opt.get(_OPT)
    return None if scope == _PUBLIC else scope


class Guard:
    """Lets a request through, with its principal noted, or refuses it."""

    def __init__(self, engine: Engine) -> None:
        self._authenticator = Authenticator(engine.db, clock=engine.clock)
        self._pace = engine.pace

    async def __call__(
        self, connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
    ) -> None:
        scope = handler.opt.get(_OPT)
        if scope == _PUBLIC:
            return
        principal = await self._authenticator.authenticate(_key(connection))
        if principal is None:
            raise unknown_key()
        if self._pace is not None and not (scope == "admin" and principal.is_operator):
            # Before its rights are looked at: being refused is no reason to be let hammer. Who runs
            # the installation can administer it always: also to take back a limit set too low.
            await self._pace.spend(principal.tenant)
        if scope is None or not principal.may(scope):
            raise Refused(
                HTTPStatus.FORBIDDEN, f"expected a key with the scope {scope}, got one without it"
            )
        via = _via(connection)
        connection.scope["auth"] = principal if via == "api" else replace(principal, via=via)


def caller(
    request: Request[Any, Any, Any],
    engine: NamedDependency[SkipValidation[Engine]],  # noqa: ARG001
) -> Principal:
    """Who is calling, as the guard found.

    It asks for the engine so that the two are given one after the other: for two at a time, the
    framework starts a group of tasks for every request.
    """
    return request.scope["auth"]


def vouch(request: Request[Any, Any, Any]) -> None:
    """Note that the request carried a token of ours that is valid: it is no stranger's.

    Strangers' requests are limited by address (`runtime/anonymous_rate.py`), which reads this.
    """
    request.scope["auth"] = True


def wall(caller: Principal) -> UUID | None:
    """The tenant that a transaction is held to; none for whoever may see all tenants."""
    return None if caller.is_operator else caller.tenant.id


def require_operator(caller: Principal) -> None:
    """Refuse whoever does not speak for the installation."""
    if not caller.is_operator:
        raise Refused(
            HTTPStatus.FORBIDDEN,
            f"expected an admin key of the tenant {DEFAULT_NAME!r}, got one of another tenant",
        )


def unknown_key() -> Refused:
    """The key is not one, or is no more."""
    return _unauthorized("expected a key that is known and in force, got another")


def _key(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    scheme, _, key = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise _unauthorized("expected the header Authorization: Bearer rota_…, got none")
    return key.strip()


def _via(connection: ASGIConnection[Any, Any, Any, Any]) -> Via:
    """From where the request says that it comes: for the audit trail, and no proof of anything."""
    agent = connection.headers.get("user-agent", "")
    if not agent.startswith(CLI_AGENT):
        return "api"
    return "apply" if agent.endswith("(apply)") else "cli"


def _unauthorized(detail: str) -> Refused:
    return Refused(HTTPStatus.UNAUTHORIZED, detail, headers=_CHALLENGE)
