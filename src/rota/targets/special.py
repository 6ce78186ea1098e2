"""Networks that are not the public internet: a table of our own (S1).

`ipaddress.is_global` is not asked: on the Pythons we support it calls some metadata services, all
multicast and every wrapped loopback address global. The rows are the IANA special-purpose
registries, and the addresses at which clouds answer their own machines.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final, NamedTuple

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Special(NamedTuple):
    """A network, and the word that ends "the address … is …"."""

    network: Network
    is_: str
    metadata: bool = False
    """Hands out a machine's credentials: closed even where private targets are open."""


_METADATA: Final = (
    "169.254.169.254/32",  # AWS, Azure, Google, DigitalOcean, OpenStack
    "169.254.170.2/32",  # AWS ECS
    "169.254.170.23/32",  # AWS EKS
    "168.63.129.16/32",  # Azure's wire server: a public address that only its machines see
    "192.0.0.192/32",  # Oracle
    "100.100.100.200/32",  # Alibaba
    "fd00:ec2::254/128",  # AWS
    "fd00:ec2::23/128",  # AWS EKS
    "fd20:ce::254/128",  # Google
)

_NETWORKS: Final = (
    ("0.0.0.0/8", "this machine"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "private (shared by a provider's customers)"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved for protocols"),
    ("192.0.2.0/24", "for documentation"),
    ("192.31.196.0/24", "reserved for AS112"),
    ("192.52.193.0/24", "reserved for AMT"),
    ("192.88.99.0/24", "reserved for 6to4 relays"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved for AS112"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "this machine"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible, which nobody uses"),
    ("::ffff:0:0:0/96", "IPv4-translated, which nobody uses"),
    ("64:ff9b:1::/48", "private (local NAT64)"),
    ("100::/64", "for discarding"),
    ("100:0:0:1::/64", "a dummy"),
    ("2001::/32", "Teredo, which hides another address"),
    ("2001::/23", "reserved for protocols"),
    ("2001:db8::/32", "for documentation"),
    ("2620:4f:8000::/48", "reserved for AS112"),
    ("3fff::/20", "for documentation"),
    ("5f00::/16", "reserved for segment routing"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)

SPECIAL: Final[tuple[Special, ...]] = (
    *(Special(ip_network(text), "a cloud's metadata service", True) for text in _METADATA),
    *(Special(ip_network(text), word) for text, word in _NETWORKS),
)
"""The first that fits is the one to name."""

MAPPED: Final = IPv6Network("::ffff:0:0/96")
NAT64: Final = IPv6Network("64:ff9b::/96")
LOCAL_NAT64: Final = IPv6Network("64:ff9b:1::/48")
SIX_TO_FOUR: Final = IPv6Network("2002::/16")
COMPATIBLE: Final = IPv6Network("::/96")
TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_ELSEWHERE: Final = Special(IPv6Network("::/0"), "reserved")


@lru_cache(maxsize=1024)
def special(address: Address) -> Special | None:
    """What is special about this address itself, whatever it may carry; None for nothing."""
    for each in SPECIAL:
        if address in each.network:
            return each
    if address.version == 4 or address in MAPPED or address in NAT64:
        return None
    # All that was ever given out for use on the internet is in here.
    return None if address in _GLOBAL_UNICAST else _ELSEWHERE
