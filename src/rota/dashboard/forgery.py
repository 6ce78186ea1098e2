"""Requests that another site made somebody's browser send (CSRF). Pure.

Every change needs two proofs: no header names another site, and the form carries the token of the
session, which no other site can read. The cookie's SameSite=Strict is a third, not relied upon.
Before there is a session, the form for signing in carries the token of a cookie of its own:
otherwise another site could sign somebody in as whom it likes.
"""

import hashlib
import hmac
from typing import Final
from urllib.parse import urlsplit

FIELD: Final = "csrf"
HEADER: Final = "x-csrf-token"
_PURPOSE: Final = b"rota dashboard csrf"


def token(secret: str) -> str:
    """The token that forms carry for the secret in a cookie. It says nothing of the secret."""
    return hmac.new(secret.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def matches(secret: str, shown: str) -> bool:
    """Whether a form was made for the browser with this secret."""
    return hmac.compare_digest(token(secret).encode(), shown.encode())


def same_origin(origin: str | None, site: str | None, host: str) -> bool:
    """Whether a request may come from a page of this host, as far as its headers tell.

    `origin` and `site` are the headers Origin and Sec-Fetch-Site. Programs send neither. Our own
    forms send the Origin "null", because our pages give away no referrer; so does a frame that
    another site locked up, but its browser says so in `site`.
    """
    if site is not None and site not in ("same-origin", "none"):
        return False
    if origin is None or origin == "null":
        return True
    return urlsplit(origin).netloc.lower() == host.lower()
