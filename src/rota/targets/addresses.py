"""Reading addresses as they will be used, not as they are written (S1). Pure.

A stranger writes 127.0.0.1 as `2130706433`, `0177.1`, `::ffff:7f00:1` or `2002:7f00:1::`. `literal`
reads every form that `getaddrinfo` takes; `readings` unwraps what an address carries in itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from rota.targets.special import (
    COMPATIBLE,
    LOCAL_NAT64,
    MAPPED,
    NAT64,
    SIX_TO_FOUR,
    TRANSLATED,
    Address,
)

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+", re.ASCII)
_KEPT: Final = 1024
"""Hosts are called again and again: what their addresses are is read once."""
_LOW_32: Final = 0xFFFF_FFFF
#: In the middle of an ISATAP address, before the IPv4 address of its tunnel.
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})


@lru_cache(maxsize=_KEPT)
def literal(host: str) -> Address | None:
    """The address that a URL's host is; None when it is a name.

    Brackets, a trailing dot and a zone are left aside: a zone only says on which wire it is.
    """
    text = host.strip("[]").rstrip(".").partition("%")[0]
    if ":" in text:
        try:
            return IPv6Address(text)
        except ValueError:
            return None
    return _classic(text)


def looks_numeric(host: str) -> bool:
    """Whether the last label is a number: then the host is an address, or nothing at all."""
    last = host.rstrip(".").rpartition(".")[2]
    return _NUMBER.fullmatch(last) is not None


@lru_cache(maxsize=_KEPT)
def resolved(text: str) -> Address:
    """An address as a resolver or a socket gives it; ValueError when it is none."""
    return ip_address(text.partition("%")[0])


@lru_cache(maxsize=_KEPT)
def readings(address: Address) -> tuple[Address, ...]:
    """The address itself and all that it may lead to through a translator or a tunnel."""
    if isinstance(address, IPv4Address):
        return (address,)
    return (address, *dict.fromkeys(_carried(address)))


def _carried(address: IPv6Address) -> list[Address]:
    value = int(address)
    if value <= 1:
        return []  # :: and ::1 are themselves, though they look like IPv4-compatible addresses.
    found: list[Address] = []
    if any(address in network for network in (MAPPED, NAT64, LOCAL_NAT64, COMPATIBLE, TRANSLATED)):
        found.append(IPv4Address(value & _LOW_32))
    if address in LOCAL_NAT64:
        # RFC 6052: after a prefix of 48 bits it is split around the byte at 64; after 56, 64 too.
        found += [_split(value, before=bits) for bits in (48, 56, 64)]
    if address in SIX_TO_FOUR:
        found.append(IPv4Address(value >> 80 & _LOW_32))
    if value >> 32 & _LOW_32 in _ISATAP:
        found.append(IPv4Address(value & _LOW_32))
    return found


def _split(value: int, *, before: int) -> IPv4Address:
    """The IPv4 address after so many bits, bits 64 to 71 left out."""
    without = (value >> 64 << 56) | (value & (1 << 56) - 1)
    return IPv4Address(without >> (120 - before - 32) & _LOW_32)


def _classic(text: str) -> IPv4Address | None:
    """As `inet_aton` reads it: one to four parts, decimal, octal or hexadecimal."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        *first, last = (_number(part) for part in parts)
    except ValueError:
        return None
    room = 8 * (4 - len(first))
    if any(number > 255 for number in first) or last >> room:
        return None
    value = last
    for at, number in enumerate(first):
        value |= number << 8 * (3 - at)
    return IPv4Address(value)


def _number(text: str) -> int:
    if len(text) > 64:
        raise ValueError("no part of an address is that long")
    if text[:2] in {"0x", "0X"}:
        # The C library reads a bare "0x" as zero.
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)
