"""Leases and nodes as values."""

from __future__ import annotations

import os

from rota.leases import Lease, Node


def test_a_lease_is_trusted_until_its_time_is_up_and_not_at_it() -> None:
    lease = Lease(shard=3, fence=7, trusted_until=100.0)
    assert lease.is_trusted(99.999)
    assert not lease.is_trusted(100.0)
    assert not lease.is_trusted(101.0)


def test_two_starts_on_one_host_are_two_nodes() -> None:
    """A host's name as identity makes two leaders (requirements, section 22)."""
    one, two = Node.start(["scheduler"]), Node.start(["scheduler"])
    assert (one.host, one.pid) == (two.host, two.pid)
    assert one.pid == os.getpid()
    assert one.id != two.id
    assert one.lock_key != two.lock_key


def test_a_lock_key_fits_an_integer_and_an_oid() -> None:
    assert all(0 <= Node.start([]).lock_key < 2**31 for _ in range(100))
