"""Testing a schedule without waiting for it: `pytest examples/testing_a_schedule.py`, or run it."""

from collections.abc import Iterator

import pytest

from rota import Context, Retry, Rota
from rota.testing import TestKit

rota = Rota(name="shop")
bank = {"is_up": True}


@rota.task(max_attempts=5)
def charge(context: Context, order: int) -> str:
    """Tried again every 10 minutes while the bank is away."""
    if not bank["is_up"]:
        raise Retry("the bank is away", after="10m")
    return f"order {order} was paid at attempt {context.attempt}"


@rota.schedule("every weekday at 9am", timezone="Europe/Madrid", misfire_policy="fire_most_recent")
async def collect() -> int:
    """Charges the orders of the night."""
    for order in (1, 2):
        await charge.enqueue(order, key=f"order {order}")
    return 2


@pytest.fixture
def kit() -> Iterator[TestKit]:
    bank["is_up"] = True
    with TestKit(rota, now="2026-03-27T00:00Z") as kit:  # a Friday
        yield kit


def test_a_week_has_five_collections(kit: TestKit) -> None:
    kit.advance(days=7)
    assert [f"{run.scheduled_for:%a}" for run in kit.runs_of(collect)] == [
        *("Fri", "Mon", "Tue", "Wed", "Thu")
    ]
    assert len(kit.runs_of(charge)) == 10
    kit.check()


def test_a_bank_that_is_away_is_asked_again(kit: TestKit) -> None:
    bank["is_up"] = False
    kit.advance_to("2026-03-27T08:15Z")
    bank["is_up"] = True
    kit.advance(hours=1)
    assert [run.result for run in kit.runs_of(charge) if run.succeeded] == [
        "order 1 was paid at attempt 3",
        "order 2 was paid at attempt 3",
    ]


def test_after_an_outage_of_a_week_one_collection_is_enough(kit: TestKit) -> None:
    kit.outage(days=7, hours=9)
    [run] = kit.runs_of(collect)
    assert run.is_catch_up
    assert kit.not_run[0].reason == "misfire_policy"


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
