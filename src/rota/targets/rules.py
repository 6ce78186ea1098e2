"""Lists that an operator writes: `example.com`, `*.example.com`, `10.0.0.0/8`."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from rota.targets import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.targets.special import Address, Network


@dataclass(frozen=True, slots=True)
class Rules:
    """A list, read once."""

    hosts: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    """With the leading dot: `*.example.com` is everything below, not example.com itself."""
    networks: tuple[Network, ...] = ()

    @staticmethod
    def read(entries: Iterable[str]) -> Rules:
        """The rules; ValueError for what is neither a host nor a network."""
        hosts: set[str] = set()
        suffixes: list[str] = []
        networks: list[Network] = []
        for entry in entries:
            text = entry.strip().lower()
            if text.startswith("*."):
                suffixes.append(plain(text[1:]))
            elif (address := addresses.literal(text)) is not None:
                networks.append(ip_network(address))
            elif "/" in text or ":" in text:
                networks.append(ip_network(text.strip("[]"), strict=False))
            else:
                hosts.add(plain(text))
        return Rules(frozenset(hosts), tuple(suffixes), tuple(networks))

    def name(self, host: str) -> bool:
        """Whether the list has this host, by its name."""
        name = plain(host)
        return name in self.hosts or name.endswith(self.suffixes)

    def hold(self, address: Address) -> bool:
        """Whether the list has this address, or a network around it."""
        return any(address in network for network in self.networks)


NOTHING: Final = Rules()


def plain(host: str) -> str:
    """A host as hosts are compared: lower case, no brackets, no trailing dot."""
    return host.lower().strip("[]").rstrip(".")
