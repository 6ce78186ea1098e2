"""The host that a signing key belongs to. Pure.

The name is the one in the target's URL, in lower case and without a trailing dot, followed by the
port unless that is 80 or 443: `example.com`, `example.com:8443`, `[::1]:8080`. An address is
written in its shortest form. The scheme is not part of it, so that the operator of a receiver can
name the host without one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from rota.errors import InvalidInput
from rota.targets import addresses
from rota.targets.errors import InvalidTarget, show
from rota.targets.http import HttpTarget

_USUAL_PORTS: Final = (None, 80, 443)


def of_url(url: str) -> str:
    """The host that this URL calls."""
    # Only the beginning is looked at and remembered: secrets may follow.
    scheme, _, rest = url.partition("://")
    return _of_origin(f"{scheme}://{rest.partition('/')[0].partition('?')[0]}")


def read(text: str) -> str:
    """The host that somebody names, or the host of a URL; `InvalidInput` when it is neither."""
    url = text.strip()
    if "://" not in url:
        url = f"https://{url}"
    try:
        HttpTarget.read(url)
    except InvalidTarget:
        raise InvalidInput(
            "Invalid host: expected a host as in the target's URL, such as example.com, "
            f"example.com:8443 or xn--mnchen-3ya.example, got {show(text)}",
            field="host",
        ) from None
    return of_url(url)


@lru_cache(maxsize=4096)
def _of_origin(text: str) -> str:
    parts = urlsplit(text)
    name, port = (parts.hostname or "").rstrip("."), parts.port
    address = addresses.literal(name)
    if address is not None:
        name = f"[{address}]" if address.version == 6 else str(address)
    return name if port in _USUAL_PORTS else f"{name}:{port}"
