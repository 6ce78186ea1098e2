"""When things fire: cron beside cronsim, croniter and cronexpr; RRULE and English alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.frame.discover import Benchmark
from bench.triggers import chain, herd, parse_and_next, reading

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

_METHOD = (
    "Rates are per second of processor time, of one process.",
    (
        "cronsim and croniter are pure Python, as Rota is; cronexpr is C. Before anything is timed "
        "the answers are compared: what a table counts is the same work. Peers get the instant "
        "already converted to the zone, and what they return is left in it: neither conversion is "
        "timed."
    ),
    (
        "cronexpr knows no zone but UTC and no parsed form: it takes the text with every call. It "
        "is absent from what is asked in America/New_York. Otherwise every peer can do all that is "
        "asked here, so nothing had to be left out for any."
    ),
)


def run(session: Session) -> list[Row]:
    """All of it, the goals first."""
    return [
        *parse_and_next.rows(session),
        *herd.rows(session),
        *chain.rows(session),
        *reading.rows(session),
    ]


BENCHMARK = Benchmark("Triggers", ("cronsim", "croniter", "cronexpr"), _METHOD, run)
