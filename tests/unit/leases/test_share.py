"""Fair shares: every shard has a place, and nobody holds more than its part (LE2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.leases.share import excess, fair_share


@pytest.mark.parametrize(
    ("shards", "schedulers", "share"),
    [(64, 1, 64), (64, 2, 32), (64, 3, 22), (64, 64, 1), (64, 100, 1), (64, 0, 64), (1, 5, 1)],
)
def test_a_share_is_rounded_up(shards: int, schedulers: int, share: int) -> None:
    assert fair_share(shards, schedulers) == share


@given(st.integers(1, 1024), st.integers(1, 200))
def test_all_shares_together_hold_every_shard(shards: int, schedulers: int) -> None:
    share = fair_share(shards, schedulers)
    assert share * schedulers >= shards
    assert (share - 1) * schedulers < shards


def test_what_is_more_than_the_share_is_given_up() -> None:
    assert excess({5, 1, 3, 2}, 2) == [3, 5]
    assert excess({5, 1}, 2) == []
    assert excess(set(), 0) == []
