"""Connecting to a stranger's host: looked up, every address judged, and pinned to what was judged.

The one way by which a worker's connections to targets are made, whatever is then spoken on them.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from rota.targets import addresses
from rota.workers.delivery.http.failures import CallFailed, NotConnected, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from rota.targets import TargetPolicy
    from rota.workers.delivery.http.resolver import Resolver

P = TypeVar("P", bound=asyncio.BaseProtocol)

NO_ANSWER: Final = "the server closed the connection without an answer"

# An address that does not answer must leave time for the next one.
_NEXT_ADDRESS_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where to connect to, and whose certificate is expected there; without `tls`, none."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class Dialler:
    """Connects to what the policy allows, and to nothing else."""

    policy: TargetPolicy
    resolver: Resolver

    async def dial(
        self, tenant: UUID, place: Place, protocol: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        """A connection to one of the host's addresses, tried one after another.

        `TargetRefused` when it may not be called, `CallFailed` when no address answers, and
        `ssl.SSLError` for a certificate: the next address would show the same.
        """
        policy = self.policy.of_tenant(tenant)
        found = await self.resolver.addresses(tenant, place.host, place.port)
        failed: list[str] = []
        errors: list[OSError | None] = []
        for address in found:
            limit = None if address == found[-1] else _NEXT_ADDRESS_SECONDS
            try:
                async with asyncio.timeout(limit):
                    return await _open(policy, place, address, protocol)
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed.append(f"{_shown(policy, place, address)}: no answer")
                errors.append(None)
            except OSError as error:
                failed.append(f"{_shown(policy, place, address)}: {reason_of(error)}")
                errors.append(error)
        # Each once: where the host alone is shown, how often says how many addresses it has.
        raise NotConnected(f"could not connect to {'; '.join(dict.fromkeys(failed))}", errors)


async def _open(
    policy: TargetPolicy, place: Place, address: str, protocol: Callable[[], P]
) -> tuple[asyncio.Transport, P]:
    """To this very address, with the host's name only where it is said."""
    transport, made = await asyncio.get_running_loop().create_connection(
        protocol,
        address,
        place.port,
        ssl=place.tls,
        server_hostname=place.server_name if place.tls else None,
    )
    try:
        check_peer(policy, place.host, address, transport)
    except BaseException:
        transport.abort()
        raise
    return transport, made


def check_peer(
    policy: TargetPolicy, host: str, address: str, transport: asyncio.BaseTransport
) -> None:
    """Once more, of the socket itself: whatever stands between a check and a connection."""
    name = transport.get_extra_info("peername")
    if not name:
        raise CallFailed(NO_ANSWER)
    peer = str(name[0])
    if addresses.resolved(peer) != addresses.resolved(address):
        raise policy.refusal(f"expected to be connected to {address}, got {peer}")
    policy.require(host, (peer,))


def _shown(policy: TargetPolicy, place: Place, address: str) -> str:
    """What was connected to; of a name, not the address where that is not to be told."""
    name = place.host.strip("[]") if policy.is_discreet else address
    return f"[{name}]:{place.port}" if ":" in name else f"{name}:{place.port}"
