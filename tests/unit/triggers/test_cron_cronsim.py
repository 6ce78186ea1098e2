"""Beside cronsim, the library closest to our rules: equal where it is right, listed where not.

The comparison keeps to what both dialects share: five fields; no `?`, W, L-n or #L; no name as a
range's end. It keeps to zones whose clock changes by one hour, after midnight and on the hour, and
to starts that lie in no overlap. The defects below bound that choice; each is asserted, so that we
notice when one is mended.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracle.clock import clock
from tests.oracle.strategies import FIRST, LAST

from rota.errors import InvalidCron
from rota.triggers.cron import Cron

ZONES = [
    "UTC",
    "America/New_York",
    "America/Los_Angeles",
    "Europe/Riga",
    "Europe/Paris",
    "Australia/Sydney",
    "Asia/Kolkata",
    "Asia/Tokyo",
]


def _field(lowest: int, highest: int, more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    number = st.integers(lowest, highest)
    step = st.integers(1, highest - lowest)
    # A range of one value with a step is one of cronsim's defects.
    span = st.tuples(number, number).filter(lambda p: p[0] < p[1]).map("{0[0]}-{0[1]}".format)
    item = st.one_of(
        number.map(str),
        span,
        st.builds("{}/{}".format, span, step),
        st.builds("{}/{}".format, number, step),
        step.map("*/{}".format),
        st.just("*"),
        more,
    )
    return st.just("*") | item | st.lists(item, min_size=1, max_size=3).map(",".join)


_WEEKDAYS = st.integers(0, 7)
SHARED = st.builds(
    "{} {} {} {} {}".format,
    _field(0, 59, st.just("0")),
    _field(0, 23, st.sampled_from(["1", "2", "3"])),
    _field(1, 31, st.sampled_from(["L", "LW"])),
    _field(1, 12, st.sampled_from(["JAN", "mar", "Oct-DEC"])),
    _field(
        0,
        7,
        st.one_of(
            st.sampled_from(["MON", "sun", "MON-FRI", "SUN-TUE"]),
            _WEEKDAYS.map("{}L".format),
            st.builds("{}#{}".format, _WEEKDAYS, st.integers(1, 5)),
        ),
    ),
)


@st.composite
def starts(draw: st.DrawFn) -> tuple[str, datetime]:
    name = draw(st.sampled_from(ZONES))
    changes = clock(name).changes(FIRST, LAST)
    if changes and draw(st.booleans()):
        at = draw(st.sampled_from(changes)).at + draw(st.integers(-100_000, 20_000))
    else:
        at = draw(st.integers(FIRST, LAST))
    start = datetime.fromtimestamp(at, clock(name).zone)
    assume(start.replace(fold=0).utcoffset() == start.replace(fold=1).utcoffset())
    return name, start


shared = settings(max_examples=500)


def ours(text: str, zone: str) -> Cron:
    try:
        return Cron.parse(text, zone)
    except InvalidCron as error:
        assume("never" not in str(error))
        raise


@shared
@given(SHARED, starts())
def test_the_next_six_slots_are_cronsims(text: str, start: tuple[str, datetime]) -> None:
    name, at = start
    trigger = ours(text, name)
    slot: datetime | None = at
    for theirs in islice(CronSim(text, at), 6):
        assert slot is not None
        slot = trigger.next_after(slot)
        assert slot == theirs.astimezone(UTC)


@shared
@given(SHARED, starts())
def test_the_previous_six_slots_are_cronsims(text: str, start: tuple[str, datetime]) -> None:
    name, at = start
    trigger = ours(text, name)
    slot: datetime | None = at
    for theirs in islice(CronSim(text, at, reverse=True), 6):
        assert slot is not None
        slot = trigger.previous_before(slot)
        assert slot == theirs.astimezone(UTC)


# Where cronsim differs ----------------------------------------------------------------------

NEW_YORK, LORD_HOWE, ST_JOHNS = "America/New_York", "Australia/Lord_Howe", "America/St_Johns"

DEFECTS: dict[str, tuple[str, str, str, tuple[str, ...], tuple[str, ...]]] = {
    "it answers with a time before the start, in a repeated hour": (
        "30 1 * * *",
        NEW_YORK,
        "2025-11-02T01:10-05:00",
        ("2025-11-02T01:30-04:00",),
        ("2025-11-03T01:30-05:00",),
    ),
    "it loses the second pass of half an hour": (
        "30 * * * *",
        LORD_HOWE,
        "2025-04-06T00:40+11:00",
        ("2025-04-06T01:30+11:00", "2025-04-06T02:30+10:30"),
        ("2025-04-06T01:30+11:00", "2025-04-06T01:30+10:30", "2025-04-06T02:30+10:30"),
    ),
    "it loses the first firing after a gap of half an hour": (
        "30 * * * *",
        LORD_HOWE,
        "2025-10-05T00:40+10:30",
        ("2025-10-05T01:30+10:30", "2025-10-05T03:30+11:00"),
        ("2025-10-05T01:30+10:30", "2025-10-05T02:30+11:00", "2025-10-05T03:30+11:00"),
    ),
    "it loses half an hour of firings after an overlap": (
        "*/15 2 * * *",
        LORD_HOWE,
        "2025-04-06T00:10+11:00",
        ("2025-04-06T02:30+10:30",),
        ("2025-04-06T02:00+10:30", "2025-04-06T02:15+10:30", "2025-04-06T02:30+10:30"),
    ),
    "it gives the same instant again and again": (
        "0 */2 * * *",
        ST_JOHNS,
        "2009-10-31T23:00-02:30",
        ("2009-11-01T00:00-02:30",) * 3,
        ("2009-11-01T00:00-02:30", "2009-11-01T00:00-03:30", "2009-11-01T02:00-03:30"),
    ),
    "it fires for a day that did not exist": (
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29T13:00-10:00",
        ("2011-12-31T00:00+14:00", "2011-12-31T12:00+14:00"),
        ("2011-12-31T12:00+14:00",),
    ),
    "it forgets the clock rules when there are seconds": (
        "0 30 2 * * *",
        NEW_YORK,
        "2025-03-09T00:00-05:00",
        ("2025-03-10T02:30-04:00",),
        ("2025-03-09T03:00-04:00",),
    ),
    "it opens a range of one value when there is a step": (
        "5-5/2 * * * *",
        "UTC",
        "2025-01-01T00:00+00:00",
        ("2025-01-01T00:05+00:00", "2025-01-01T00:07+00:00"),
        ("2025-01-01T00:05+00:00", "2025-01-01T01:05+00:00"),
    ),
}


def moments(texts: tuple[str, ...]) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


@pytest.mark.parametrize("defect", DEFECTS)
def test_cronsim_still_has_the_defect(defect: str) -> None:
    text, zone, after, theirs, _ = DEFECTS[defect]
    start = datetime.fromisoformat(after).astimezone(clock(zone).zone)
    found = [slot.astimezone(UTC) for slot in islice(CronSim(text, start), len(theirs))]
    assert found == moments(theirs)


@pytest.mark.parametrize("defect", DEFECTS)
def test_rota_does_not_have_the_defect(defect: str) -> None:
    text, zone, after, _, ours_are = DEFECTS[defect]
    trigger = Cron.parse(text, zone)
    slot: datetime | None = datetime.fromisoformat(after)
    for wanted in moments(ours_are):
        assert slot is not None
        slot = trigger.next_after(slot)
        assert slot == wanted


class Stuck(Exception):
    """cronsim took more steps than any answer needs."""


class Bounded(CronSim):
    """cronsim that gives up, instead of running for ever."""

    steps = 0

    def tick(self, seconds: int = 1) -> None:
        self.steps += 1
        if self.steps > 50_000:
            raise Stuck
        super().tick(seconds)


def test_cronsim_still_never_answers_in_st_johns_where_rota_does() -> None:
    start = datetime.fromisoformat("2009-10-31T20:00-02:30")
    with pytest.raises(Stuck):
        next(Bounded("7 */6 * * *", start.astimezone(clock(ST_JOHNS).zone)))
    slot = Cron.parse("7 */6 * * *", ST_JOHNS).next_after(start)
    assert slot == datetime.fromisoformat("2009-11-01T00:07-03:30")
