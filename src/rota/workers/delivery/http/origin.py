"""A URL as a client needs it: where to connect, what to ask for there. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from rota.targets import addresses

_URL: Final = re.compile(r"(https?://[^/?#]+)([^#]*)", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """A scheme, a host and a port. Connections to the same one can be shared."""

    scheme: str
    host: str
    """As it is looked up; an address without brackets."""
    port: int
    authority: str
    """As it is said in `Host`: without a trailing dot, without the scheme's own port."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: the pool looks connections up by origin, twice for each request."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.scheme, self.host, self.port)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"

    @property
    def server_name(self) -> str:
        """Whose certificate is expected."""
        literal = addresses.literal(self.host)
        return self.host.rstrip(".") if literal is None else str(literal)


def split(url: str) -> tuple[Origin, str]:
    """The origin and the rest, as it is asked for; ValueError when there is no telling them apart.

    The rest is taken as it is: quoting it anew could break a signed URL. A fragment is dropped.
    """
    found = _URL.match(url)
    if found is None:
        raise ValueError("expected a URL that begins with https:// or http:// and has a host")
    target = found[2]
    return origin(found[1]), target if target.startswith("/") else f"/{target}"


@lru_cache(maxsize=4096)
def origin(text: str) -> Origin:
    """The origin that `https://host:port` names; no secret is ever in there."""
    parts = urlsplit(text)
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
    if "@" in text or "\\" in text or not host:
        raise ValueError("expected a host in the URL, and neither user nor password")
    name = f"[{host}]" if ":" in host else host.rstrip(".")
    usual = port == _DEFAULT_PORTS[parts.scheme]
    return Origin(parts.scheme, host, port, name if usual else f"{name}:{port}")
