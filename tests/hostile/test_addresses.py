"""S1: addresses that are nobody's business, in every spelling, at create time and at the call."""

from __future__ import annotations

import asyncio
import os
import socket
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile import literals
from tests.hostile.calling import STRICT, alias, call, call_with, canary

from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule
from rota.targets import OPEN, TargetPolicy, addresses
from rota.targets.special import MAPPED, NAT64, SPECIAL, Address, Network
from rota.workers.delivery.http import HttpCaller

NOW = datetime(2026, 3, 9, 13, tzinfo=UTC)


def create(url: str, policy: TargetPolicy) -> None:
    """What every way of creating a schedule goes through; `InvalidSchedule` when refused."""
    given_ = {"name": "n", "cron_expr": "0 9 * * *", "target_url": url}
    fields.read(given_, now=NOW, targets=policy)


def test_there_are_enough_of_them() -> None:
    assert len(set(literals.ALL)) >= 120


@pytest.mark.parametrize("host", literals.ALL)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_schedule_that_would_call_it_is_refused_with_the_field_named(
    host: str, scheme: str
) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        create(f"{scheme}://{host}/", STRICT)
    assert [problem.field for problem in refused.value.problems] == ["target_url"]


@pytest.mark.parametrize("host", literals.PUBLIC)
def test_a_schedule_that_calls_the_internet_is_made(host: str) -> None:
    create(f"https://{host}/", STRICT)


async def test_none_is_called_when_it_is_there_all_the_same() -> None:
    """As if it had been stored before the policy was: the second wall stands alone."""
    with canary() as bird:
        async with HttpCaller(STRICT) as caller:
            for host in literals.ALL:
                reply = await call_with(caller, f"http://{host}:{bird.port}/", timeout_seconds=2)
                assert reply.code is None, host
                assert reply.error, host
                assert not reply.timed_out, host
        assert bird.connections == 0


async def test_the_canary_would_have_seen_them() -> None:
    """With private targets open the same spellings do reach it: the policy is what stops them."""
    reaching = ("127.0.0.1", "2130706433", "0x7f.1", "0177.1", "[::1]", "[::ffff:7f00:1]")
    with canary() as bird:
        for host in reaching:
            assert (await call(f"http://{host}:{bird.port}/")).code == 200, host
        assert bird.connections == len(reaching)


async def test_a_private_address_of_a_real_interface_is_not_called() -> None:
    address = f"10.213.{os.getpid() % 250}.{os.getpid() // 250 % 250 + 1}"
    with alias(address) as permitted, canary() as bird:
        if not permitted:
            pytest.skip("adding an address to the loopback interface is not permitted here")
        url = f"http://{address}:{bird.port}/"
        refused = await call(url, STRICT)
        assert (refused.code, bird.connections) == (None, 0)
        assert refused.error is not None
        assert refused.error.startswith(f"the address {address} is private;")
        allowed = TargetPolicy.of(allow=["10.213.0.0/16"])
        assert (await call(url, allowed)).code == 200
        assert bird.connections == 1


@pytest.mark.parametrize("host", literals.METADATA)
def test_a_metadata_service_stays_closed_where_private_targets_are_open(host: str) -> None:
    with pytest.raises(InvalidSchedule, match="metadata"):
        create(f"http://{host}/", OPEN)


def _inside(network: Network, part: float) -> Address:
    first, last = int(network.network_address), int(network.broadcast_address)
    value = first + int((last - first) * part)
    return IPv4Address(value) if network.version == 4 else IPv6Address(min(value, last))


def _wrapped(address: Address) -> list[Address]:
    """The address in all the ways that lead to it."""
    if isinstance(address, IPv6Address):
        return [address]
    value = int(address)
    spread = (value >> 16) << 64 | (value & 0xFFFF) << 40
    return [
        address,
        IPv6Address(0xFFFF << 32 | value),
        IPv6Address(value),
        IPv6Address(0xFFFF << 48 | value),
        IPv6Address(0x2002 << 112 | value << 80 | 1),
        IPv6Address(0x64FF9B << 96 | value),
        IPv6Address(0x64FF9B0001 << 80 | value),
        IPv6Address(0x64FF9B0001 << 80 | spread),
    ]


@settings(max_examples=2000)
@given(st.sampled_from(SPECIAL), st.floats(0, 1))
def test_no_address_of_a_closed_network_passes_in_any_wrapping(
    special: tuple[Network, str, bool], part: float
) -> None:
    address = _inside(special[0], part)
    for wrapped in _wrapped(address):
        assert STRICT.wrong_with_addresses("h.example", [str(wrapped)]), wrapped
        assert STRICT.wrong_with_addresses("h.example", ["8.8.8.8", str(wrapped)]), wrapped
        shown = f"[{wrapped}]" if wrapped.version == 6 else str(wrapped)
        assert STRICT.wrong_with_url(f"https://{shown}/"), wrapped


@settings(max_examples=2000)
@given(st.integers(0, 2**128 - 1))
def test_no_address_outside_of_what_was_given_out_passes(value: int) -> None:
    address = IPv6Address(value)
    if not STRICT.wrong_with_addresses("h.example", [str(address)]):
        assert value >> 125 == 1 or address in NAT64 or address in MAPPED, address


@settings(max_examples=500)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["d", "o", "x", "short", "mixed"]))
def test_every_spelling_of_an_address_is_read_as_the_c_library_reads_it(
    value: int, spelling: str
) -> None:
    a, b, c, d = value.to_bytes(4, "big")
    text = {
        "d": f"{value}",
        "o": f"0{value:o}",
        "x": f"{value:#x}",
        "short": f"{a}.{(b << 16) | (c << 8) | d}",
        "mixed": f"{a:#x}.0{b:o}.{(c << 8) | d}",
    }[spelling]
    assert addresses.literal(text) == ip_address(value)


@pytest.mark.parametrize("host", [h for h in literals.CLOSED if "[" not in h and h[0].isdigit()])
async def test_what_we_read_is_what_the_system_would_connect_to(host: str) -> None:
    """Otherwise a spelling that we take for a name could be an address to the system."""
    loop = asyncio.get_running_loop()
    try:
        rows = await loop.run_in_executor(None, _numeric, host)
    except (OSError, UnicodeError):
        return
    assert {str(addresses.literal(host))} == set(rows)


def _numeric(host: str) -> list[str]:
    found = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(row[4][0]) for row in found]
