"""Token buckets (S12): the tenant's, and what a node has taken out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.tenants.bucket import ASK_SECONDS, KEEP_SECONDS, MOST, Bucket, Purse, Taken


@pytest.mark.parametrize(
    ("rate", "burst", "ahead", "wanted", "count", "retry_after"),
    [
        # A full one gives what is wanted, up to its burst.
        (10, 20, 0.0, 5, 5, 0.0),
        (10, 20, 0.0, 20, 20, 0.1),
        (10, 20, 0.0, 100, 20, 0.1),
        # Half of it is spent, all of it, all but a part of a token.
        (10, 20, 1.0, 100, 10, 0.1),
        (10, 20, 2.0, 1, 0, 0.1),
        (10, 20, 1.95, 1, 0, 0.05),
        (10, 20, 1.9, 1, 1, 0.1),
        # The clock went back, or the rate was slower before: it is empty, and no worse.
        (10, 20, 3600.0, 1, 0, 0.1),
        (10, 20, -5.0, 100, 20, 0.1),
        (0.5, 1, 0.0, 1, 1, 2.0),
        (0.5, 1, 1.0, 1, 0, 1.0),
    ],
)
def test_a_bucket_gives_what_is_in_it(
    *, rate: float, burst: int, ahead: float, wanted: int, count: int, retry_after: float
) -> None:
    taken = Bucket(rate=rate, burst=burst).take(wanted, ahead=ahead)
    assert taken.count == count
    assert taken.retry_after == pytest.approx(retry_after, abs=1e-9)


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0), (float("nan"), 1)])
def test_a_bucket_that_gives_nothing_is_none(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="expected a rate"):
        Bucket(rate=rate, burst=burst)


asks = st.lists(st.tuples(st.floats(0, 3), st.integers(1, 50)), max_size=60)
buckets = st.builds(Bucket, rate=st.floats(0.1, 10_000), burst=st.integers(1, 5_000))


@given(bucket=buckets, asked=asks)
def test_never_more_than_the_burst_and_what_has_flown_in(
    bucket: Bucket, asked: list[tuple[float, int]]
) -> None:
    now, spent_until, got = 0.0, 0.0, 0
    for pause, wanted in asked:
        now += pause
        taken = bucket.take(wanted, ahead=spent_until - now)
        spent_until = now + taken.ahead
        got += taken.count
        assert 0 <= taken.count <= wanted
        assert got <= bucket.burst + now * bucket.rate + 1e-3


@given(bucket=buckets, ahead=st.floats(0, 1e6), wanted=st.integers(1, 100))
def test_whoever_waits_as_long_as_told_gets_one_and_not_before(
    bucket: Bucket, ahead: float, wanted: int
) -> None:
    taken = bucket.take(wanted, ahead=ahead)
    assert bucket.take(1, ahead=taken.ahead - taken.retry_after - 1e-6).count == 1
    if taken.retry_after > 1e-3 / bucket.rate:
        assert bucket.take(1, ahead=taken.ahead - taken.retry_after * 0.9).count == 0


@given(bucket=buckets)
def test_a_handful_is_never_nothing_and_never_all(bucket: Bucket) -> None:
    assert 1 <= bucket.handful <= max(1, min(MOST, bucket.rate / 10))


def test_a_handful_grows_while_it_goes_fast_and_shrinks_when_it_lasts() -> None:
    purse = Purse()
    sizes: list[int] = []
    for now in (0.0, 0.01, 0.02, 0.03, 0.04, 2.0, 4.0, 4.5):
        purse.fill(now, Taken(1, 0.0, 0.0), 8)
        sizes.append(purse.handful)
    assert sizes == [1, 2, 4, 8, 8, 4, 2, 2]


def test_old_tokens_are_lost() -> None:
    purse = Purse()
    purse.fill(0.0, Taken(3, 0.0, 0.0), 8)
    assert purse.spend(KEEP_SECONDS)
    assert not purse.spend(KEEP_SECONDS + 0.1)


def test_an_empty_purse_says_how_long_but_asks_again_sooner() -> None:
    purse = Purse()
    assert purse.wait(0.0) is None
    purse.fill(0.0, Taken(0, 0.0, 30.0), 8)
    assert purse.wait(0.5) == 29.5
    assert purse.wait(ASK_SECONDS) is None


@given(
    steps=st.lists(
        st.one_of(st.just("spend"), st.integers(0, 20), st.floats(0.001, 3.0)), max_size=80
    )
)
def test_a_purse_never_gives_more_than_was_put_in(steps: list[str | int | float]) -> None:
    purse, now, put, spent = Purse(), 0.0, 0, 0
    for step in steps:
        if isinstance(step, str):
            spent += purse.spend(now)
        elif isinstance(step, int):
            purse.fill(now, Taken(step, 0.0, 1.0), 10)
            put += step
        else:
            now += step
        assert spent <= put
        assert 1 <= purse.handful <= 10


def test_who_needs_many_gets_all_of_them_or_none_and_hears_when_there_are_enough() -> None:
    bucket = Bucket(rate=10, burst=20)
    assert bucket.take(20, ahead=0, least=20).count == 20
    short = bucket.take(15, ahead=1.0, least=15)
    assert short.count == 0
    assert short.ahead == 1.0
    assert short.retry_after == pytest.approx(0.5)


def test_a_purse_remembers_that_there_were_not_so_many() -> None:
    purse = Purse()
    assert purse.wait_for(50, 0.0) is None
    purse.refused(50, 0.0, 0.4)
    assert purse.wait_for(50, 0.1) == pytest.approx(0.3)
    # Fewer may be there; and after a while the bucket is asked again.
    assert purse.wait_for(49, 0.1) is None
    assert purse.wait_for(50, 0.5) is None
