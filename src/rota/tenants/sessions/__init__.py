"""Signing in to the dashboard: sessions, and the tokens that begin one.

A session is a random secret in its owner's browser and a hash of it here. It never has more rights
than the key it was begun with, and none any more once that key is revoked or has expired. One that
was begun with a link of a server's start has no key: it ends when any admin key of the operator is
revoked.
"""

from rota.tenants.sessions.service import (
    LIFETIME,
    TOKEN_LIFETIME,
    Session,
    SignInToken,
    begin_with_key,
    begin_with_token,
    end,
    end_links,
    find,
    forget_expired,
    is_good,
    new_token,
)

__all__ = [
    "LIFETIME",
    "TOKEN_LIFETIME",
    "Session",
    "SignInToken",
    "begin_with_key",
    "begin_with_token",
    "end",
    "end_links",
    "find",
    "forget_expired",
    "is_good",
    "new_token",
]
