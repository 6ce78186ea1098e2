"""A Redis stream: where an entry is added for every firing.

    redis://host/name            database 0
    redis://host:6380/2/name     another port, database 2
    rediss://…                   the same, over TLS
    redis://:${secrets.PW}@host/name, redis://user:${secrets.PW}@host/name

A password is only ever the name of a secret: the address itself is stored and shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rota.targets import addresses
from rota.targets.errors import InvalidTarget, Problem, show

if TYPE_CHECKING:
    from rota.targets.policy import TargetPolicy

DEFAULT_PORT: Final = 6379
MAX_STREAM: Final = 1_000

_SCHEMES: Final = ("redis", "rediss")
_USER_INFO = re.compile(
    r"(?P<user>[A-Za-z0-9_.-]{0,100}):\$\{secrets\.(?P<secret>[A-Za-z_][A-Za-z0-9_]{0,63})\}",
    re.ASCII,
)
_PLACE = re.compile(
    r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,254})(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII | re.IGNORECASE,
)
_HOST = re.compile(
    r"(?=.{1,253}$)[a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_][a-z0-9_-]{0,62})*\.?", re.ASCII
)
_PATH = re.compile(r"(?:(?P<db>[0-9]{1,5})/)?(?P<name>[A-Za-z0-9_:.{}-]{1,200})", re.ASCII)
_FORM: Final = "redis://host/name or redis://host:port/database/name"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTarget:
    """Add an entry to the stream `name` in database `db` of the Redis at `host` and `port`."""

    host: str
    """In lower case; an address without brackets."""
    port: int = DEFAULT_PORT
    db: int = 0
    name: str
    is_tls: bool = False
    user: str | None = None
    secret: str | None = None
    """The name of the secret that is the password."""

    @staticmethod
    def read(stream: str) -> StreamTarget:
        """The target; `InvalidTarget` when the address is not one."""
        found = _read(stream)
        if isinstance(found, str):
            raise InvalidTarget((Problem("stream", f"Invalid stream: {found}"),))
        return found

    @property
    def place(self) -> str:
        """Where it is, for limits and circuits: always with the port, unlike a URL's host."""
        name = f"[{self.host}]" if ":" in self.host else self.host.rstrip(".")
        return f"{name}:{self.port}"

    def wrong_by(self, policy: TargetPolicy) -> str | None:
        """Why the operator's policy refuses it, as far as can be told without a look-up."""
        if policy.https_only and not self.is_tls:
            return "expected rediss://, as https_only is on here, got redis://"
        return policy.wrong_with_place("https", self.host, self.port)


def _read(stream: str) -> StreamTarget | str:
    """The target, or what is wrong with it."""
    if len(stream) > MAX_STREAM:
        return f"expected at most {MAX_STREAM} characters, got {len(stream)}"
    scheme, separator, rest = stream.partition("://")
    if not separator or scheme not in _SCHEMES:
        return f"expected one that begins with redis:// or rediss://, got {_shown(stream)}"
    # The last @: a password with an @ of its own must not pass for a part of the host.
    user_info, at, rest = rest.rpartition("@")
    credentials = _USER_INFO.fullmatch(user_info) if at else None
    if at and credentials is None:
        # It would be stored and shown; it is not repeated here either.
        return "expected the password as a secret, such as redis://:${secrets.REDIS}@host/name"
    authority, _, path = rest.partition("/")
    place, parts = _PLACE.fullmatch(authority), _PATH.fullmatch(path)
    if parts is None or parts["name"].isdecimal():
        return (
            f"expected {_FORM}, the name of letters, digits and _ : . {{ }} -, got {_shown(stream)}"
        )
    host = None if place is None else _host(place["host"])
    port = DEFAULT_PORT if place is None or place["port"] is None else int(place["port"])
    if host is None or not 1 <= port <= 65_535:
        return f"expected a host such as redis.example.com, and a port if any, in {_shown(stream)}"
    return StreamTarget(
        host=host,
        port=port,
        db=int(parts["db"] or 0),
        name=parts["name"],
        is_tls=scheme == "rediss",
        user=(credentials["user"] or None) if credentials else None,
        secret=credentials["secret"] if credentials else None,
    )


def _host(text: str) -> str | None:
    lower = text.lower()
    if lower.startswith("["):
        inner = lower[1:-1]
        return inner if addresses.literal(inner) is not None else None
    return lower if _HOST.fullmatch(lower) else None


def _shown(stream: str) -> str:
    """Without whatever stands before an @, which may be a password."""
    _, at, rest = stream.rpartition("@")
    return show(f"…@{rest}" if at else stream)
