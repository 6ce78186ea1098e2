"""How many connections a listening socket may have, overall and per peer, and until when each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final, Literal, Protocol

from rota.api.problems import Refused
from rota.runtime import descriptors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.config import Config

Phase = Literal["idle", "head", "body", "working", "answered", "writing", "closing"]
"""What a connection waits for."""

USUAL: Final = 4096
USUAL_OF_PEER: Final = 512
_MAX_ADDRESS: Final = 64
"""Characters; what is longer is no address, and a proxy may have passed on anything."""
MAX_STEP: Final = 2.0
"""Seconds that may pass between two looks at the connections, as far as deadlines go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How many seconds a connection may spend in one phase."""

    idle: float = 10.0
    """Before the first byte of a request."""
    head: float = 10.0
    """From there to the end of the headers."""
    body: float = 20.0
    """From there to the end of the body; more by its size."""
    answered: float = 30.0
    """For the rest of a body whose request has been answered: it is thrown away."""
    writing: float = 30.0
    """For taking what was sent, when that is more than a buffer holds; more by its size."""
    closing: float = 5.0
    """For taking the last of it; more by its size."""
    rate: int = 8 * 1024
    """The bytes that add a second."""

    def of(self, phase: Phase) -> float:
        """Without what the size adds. While the application works there is no deadline here:

        long polls and event streams are open for as long as it says.
        """
        return float("inf") if phase == "working" else getattr(self, phase)


class Connection(Protocol):
    """One connection, as the limiter sees it."""

    def end_if_late(self, now: float, /) -> None:
        """End it when it is past a deadline."""
        ...


class Peers:
    """Addresses as the limits know them: one IPv4 address, or one IPv6 network of 64 bits.

    Whoever has an IPv6 address usually has the whole network.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [ip_network(each, strict=False) for each in trusted]

    def name(self, host: str) -> str:
        """What to count the peer by."""
        # Asked for with every request, and most have the address of one before.
        return _cached_name(host) if len(host) <= _MAX_ADDRESS else _name(host)

    def is_proxy(self, host: str) -> bool:
        """Whether this is one that the operator trusts: it stands for many."""
        address = _address(host)
        return address is not None and any(address in each for each in self._trusted)


def _name(host: str) -> str:
    address = _address(host)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return host if address is None else str(address)


_cached_name = lru_cache(maxsize=4096)(_name)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


class ConnectionLimiter:
    """Lets connections in up to the caps, and ends those that are past a deadline."""

    def __init__(
        self,
        *,
        most: int = USUAL,
        most_of_peer: int = USUAL_OF_PEER,
        peers: Peers | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.deadlines = deadlines or Deadlines()
        self._most = most
        self._most_of_peer = most_of_peer
        self._peers = peers or Peers()
        self._time = 0.0
        self._looked_at = float("-inf")
        self._open: dict[Connection, str | None] = {}
        self._of_peer: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def enter(self, connection: Connection, client: tuple[str, int] | None) -> Refused | None:
        """Count the connection; or say why it cannot be had."""
        if len(self._open) >= self._most:
            return _full(f"expected at most {self._most:,} open connections, got one more")
        host = client[0] if client is not None else ""
        peer = None if self._peers.is_proxy(host) else self._peers.name(host)
        if peer is not None:
            if self._of_peer[peer] >= self._most_of_peer:
                return _full(
                    f"expected at most {self._most_of_peer:,} open connections from one address, "
                    "got one more"
                )
            self._of_peer[peer] += 1
        self._open[connection] = peer
        return None

    def leave(self, connection: Connection) -> None:
        """Count it no longer; harmless for one that was not let in."""
        peer = self._open.pop(connection, None)
        if peer is not None:
            self._of_peer[peer] -= 1
            if not self._of_peer[peer]:
                del self._of_peer[peer]

    def end_late(self, now: float) -> None:
        """End all that are past a deadline. To be called every second.

        Time in which this process did not run, or did nothing else, is not held against callers:
        what they sent in it has not been read yet.
        """
        self._time += min(now - self._looked_at, MAX_STEP)
        self._looked_at = now
        for connection in list(self._open):
            connection.end_if_late(self._time)


def limiter_of(config: Config) -> ConnectionLimiter:
    """By the configuration, and never more than the process has descriptors for."""
    most = min(config.max_connections or USUAL, descriptors.for_callers())
    of_peer = config.max_peer_connections or min(USUAL_OF_PEER, max(1, most // 2))
    return ConnectionLimiter(
        most=most, most_of_peer=min(of_peer, most), peers=Peers(config.trusted_proxies)
    )


def _full(detail: str) -> Refused:
    return Refused(HTTPStatus.TOO_MANY_REQUESTS, detail, headers={"Retry-After": "5"})
