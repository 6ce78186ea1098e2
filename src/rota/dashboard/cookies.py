"""The cookies of a session, and of whoever is about to begin one. Pure.

`__Host-` binds it to this very host and to TLS, which browsers also grant to loopback addresses;
over plain HTTP elsewhere such a cookie would never be sent back, so there it goes without.
"""

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from litestar.datastructures import Cookie

SECURE_NAME: Final = "__Host-rota_session"
PLAIN_NAME: Final = "rota_session"
_SECURE_DOOR: Final = "__Host-rota_sign_in"
_PLAIN_DOOR: Final = "rota_sign_in"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_secure(scheme: str, host: str, *, public_url: str | None = None) -> bool:
    """Whether a browser takes a `Secure` cookie from here.

    Behind a proxy that ends TLS we see plain HTTP: there the operator's `public_url` tells.
    """
    if scheme == "https" or host in _LOOPBACK or host.endswith(".localhost"):
        return True
    public = urlsplit(public_url or "")
    return public.scheme == "https" and public.hostname == host.lower()


def name(*, secure: bool) -> str:
    return SECURE_NAME if secure else PLAIN_NAME


def given(secret: str, *, secure: bool, lifetime: timedelta) -> Cookie:
    """The cookie that holds a session: no script reads it, no other site sends it."""
    return Cookie(
        key=name(secure=secure),
        value=secret,
        path="/",
        httponly=True,
        secure=secure,
        samesite="strict",
        max_age=int(lifetime.total_seconds()),
    )


def door_name(*, secure: bool) -> str:
    return _SECURE_DOOR if secure else _PLAIN_DOOR


def door_given(nonce: str, *, secure: bool, max_age: int | None = None) -> Cookie:
    """The cookie that a form for signing in belongs to: gone when the browser is closed."""
    return Cookie(
        key=door_name(secure=secure),
        value=nonce,
        path="/",
        httponly=True,
        secure=secure,
        samesite="strict",
        max_age=max_age,
    )


def taken_back(*, secure: bool) -> Cookie:
    """What makes the browser forget a session."""
    return given("", secure=secure, lifetime=timedelta())


def door_taken_back(*, secure: bool) -> Cookie:
    """What makes the browser forget a form for signing in."""
    return door_given("", secure=secure, max_age=0)
