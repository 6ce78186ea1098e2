"""What the kit runs is what the trigger names, no slot more and none less."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

import rota
from rota.testing import TestKit

if TYPE_CHECKING:
    from collections.abc import Sequence

ZONES = ("UTC", "Europe/Madrid", "America/New_York", "Australia/Lord_Howe")


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        value.map(str),
        st.integers(1, high).map(lambda step: f"*/{step}"),
        st.lists(value, min_size=1, max_size=4).map(lambda found: ",".join(map(str, found))),
    )


MINUTES = st.one_of(st.integers(0, 59).map(str), st.sampled_from(["*/20", "0,30", "7,52"]))
CRON = st.tuples(MINUTES, _field(0, 23), _field(1, 28), _field(1, 12), _field(0, 6))


@given(
    cron=CRON.map(" ".join),
    zone=st.sampled_from(ZONES),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001 - given a zone below
    days=st.lists(st.integers(0, 20), min_size=1, max_size=4),
)
@settings(max_examples=60)
def test_the_runs_between_two_instants_are_the_triggers_slots(
    cron: str, zone: str, start: datetime, days: Sequence[int]
) -> None:
    begin = start.replace(tzinfo=UTC, microsecond=0)
    app = rota.Rota(app="tests")

    @app.schedule(cron, timezone=zone)
    def task() -> None: ...

    kit = TestKit(app, now=begin)
    for count in days:
        kit.advance(days=count)
    end = begin + timedelta(days=sum(days))
    slots = [
        each for each in rota.preview(cron, timezone=zone, after=begin, count=6000) if each <= end
    ]
    assert [run.scheduled_for for run in kit.runs] == slots
    assert [run.started_at for run in kit.runs] == slots
    assert kit.not_run == []
