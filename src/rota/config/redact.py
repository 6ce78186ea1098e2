"""Showing values without giving secrets away."""

from __future__ import annotations

import re
from pathlib import PurePath
from urllib.parse import SplitResult, unquote, urlsplit

HIDDEN = "***"


def split(text: str) -> SplitResult | None:
    """The parts of an address with `://`, or None when it is not one that can be told apart.

    An unescaped `/`, `?` or `#` in a password ends the host early and leaves the rest of the
    password in the path, the query or the fragment. Such an address is refused, not guessed at.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    stray = "@" in parts.path or ("@" in parts.query and "@" not in parts.netloc)
    return None if stray or parts.fragment or "://" not in text else parts


def has_host(text: str) -> bool:
    """Whether the address names a host, and a port that is one if any."""
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def secret(_: object) -> str:
    """Says that there is a value, and nothing else of it: not its length, not its ends."""
    return HIDDEN


def address(text: str) -> str:
    """The address with every password in it replaced. Hides it all when in doubt."""
    parts = split(text)
    if parts is None:
        return HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{colon}{HIDDEN if colon else ''}{at}{host}"
    return parts._replace(netloc=netloc, query=_query(parts.query)).geturl()


def _query(query: str) -> str:
    return "&".join(_parameter(pair) for pair in query.split("&"))


def _parameter(pair: str) -> str:
    # Looked for in the whole, decoded: `user=ana;password=…` and `%70assword=…` hide one as well.
    if "password" not in unquote(pair).lower():
        return pair
    name, _, _ = pair.partition("=")
    return f"{name}={HIDDEN}"


def got(value: object) -> str:
    """A value that did not fit, for a message: short, and containers by their name only."""
    if isinstance(value, PurePath):
        value = str(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}… ({len(value)} characters)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else _digits(value)
    return {"dict": "a table", "list": "a list", "tuple": "a list"}.get(
        type(value).__name__, f"a {type(value).__name__}"
    )


def _digits(value: int) -> str:
    # str() of an int with more than 4,300 digits is a ValueError.
    return str(value) if abs(value) < 10**30 else "a number of more than 30 digits"


def got_secret(value: object) -> str:
    """Like `got` for a value that may be a secret in the wrong form."""
    return "a text that is not shown" if isinstance(value, str) else got(value)


def got_address(value: object) -> str:
    """Like `got` for an address that may hold a password: at most its scheme is shown."""
    if not isinstance(value, str):
        return got(value)
    scheme = re.match(r"[a-z][a-z0-9+.-]{0,19}://", value.strip(), re.ASCII | re.IGNORECASE)
    return f"{scheme[0]}… (not shown in full)" if scheme else got_secret(value)
