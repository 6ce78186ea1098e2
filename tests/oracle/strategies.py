"""Random expressions over the whole dialect, and random instants drawn to clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import strategies as st
from tests.oracle.clock import Change, clock, digest, epoch, tzdata_names, utc
from tests.oracle.cron import DAYS, MONTHS

FIRST, LAST = epoch(datetime(1990, 1, 1, tzinfo=UTC)), epoch(datetime(2041, 1, 1, tzinfo=UTC))


@cache
def kinds() -> tuple[tuple[str, ...], ...]:
    """Zone names in groups whose clocks change alike from 1990 to 2040."""
    by_file: dict[str, list[str]] = {}
    for name in tzdata_names():
        by_file.setdefault(digest(name), []).append(name)
    groups: dict[tuple[int, tuple[Change, ...]], list[str]] = {}
    for same in by_file.values():
        key = (clock(same[0]).offset(FIRST), tuple(clock(same[0]).changes(FIRST, LAST)))
        groups.setdefault(key, []).extend(same)
    return tuple(tuple(group) for group in groups.values())


def _numbers(lowest: int, highest: int, common: list[int]) -> st.SearchStrategy[int]:
    return st.sampled_from(common) | st.integers(lowest, highest)


def _items(
    lowest: int, highest: int, width: int, common: list[int], *, open_ended: bool = True
) -> st.SearchStrategy[str]:
    """One item of a list: a number, a range, a start, with or without a step."""
    number = _numbers(lowest, highest, common)
    step = st.integers(1, 6) | st.integers(1, width)
    span = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    choices = [
        number.map(str),
        number.map(str),
        span,
        st.builds("{}/{}".format, span, step),
        st.builds("{}/{}".format, number, step),
    ]
    if open_ended:
        choices += [st.just("*"), st.just("*"), step.map("*/{}".format)]
    return st.one_of(choices)


def _listed(item: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return item | st.lists(item, min_size=1, max_size=most).map(",".join)


SECONDS = _listed(_items(0, 59, 60, [0, 1, 30, 59]), most=2)
MINUTES = _listed(_items(0, 59, 60, [0, 1, 15, 29, 30, 31, 45, 59]))
HOURS = _listed(_items(0, 23, 24, [0, 1, 2, 3, 22, 23]))
# Few values, so that a window of days holds few slots.
SPARSE_TIMES = st.builds(
    "{} {}".format,
    st.sampled_from(["0", "30", "59", "0,30", "1/29", "15-45/15", "*/20", "*/30", "0-2"]),
    HOURS,
)

DAYS_OF_MONTH = st.one_of(
    st.just("*"),
    st.just("*"),
    st.just("?"),
    st.integers(1, 31).map("{}W".format),
    st.integers(0, 30).map("L-{}W".format),
    _listed(
        _items(1, 31, 31, [1, 15, 28, 29, 30, 31])
        | st.sampled_from(["L", "LW", "L-1", "l", "lw"])
        | st.integers(1, 30).map("L-{}".format)
    ),
)
MONTH = st.just("*") | _listed(
    _items(1, 12, 12, [2, 3, 4, 10, 11])
    | st.sampled_from(MONTHS)
    | st.sampled_from(["jan-mar", "Mar-Nov", "SEP-DEC/2", "feb/3"])
)
_WEEKDAY = st.sampled_from([*DAYS, *map(str, range(8)), "sun", "Mon"])
DAYS_OF_WEEK = st.one_of(
    st.just("*"),
    st.just("*"),
    st.just("?"),
    _listed(
        st.one_of(
            _items(0, 7, 7, [0, 6, 7]),
            _WEEKDAY,
            _WEEKDAY.map("{}L".format),
            _WEEKDAY.map("{}#L".format),
            st.builds("{}#{}".format, _WEEKDAY, st.integers(1, 5)),
            st.sampled_from(["MON-FRI", "FRI-SUN", "sun-tue", "SUN/2", "TUE-SUN/2"]),
        )
    ),
)
YEARS = st.just("*") | _listed(_items(1970, 2199, 230, list(range(1990, 2041))), most=2)

_FIVE = st.builds(
    "{} {} {} {}".format,
    MINUTES.flatmap(lambda m: HOURS.map(lambda h: f"{m} {h}")) | SPARSE_TIMES,
    DAYS_OF_MONTH,
    MONTH,
    DAYS_OF_WEEK,
)
_SECONDS_FIRST = st.builds("{} {}".format, st.just("0") | SECONDS, _FIVE)

EXPRESSIONS = st.one_of(
    _FIVE,
    _FIVE,
    _SECONDS_FIRST,
    st.builds("{} {}".format, _SECONDS_FIRST, YEARS),
    st.sampled_from(["@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]),
)


@st.composite
def moments(draw: st.DrawFn, names: list[str]) -> tuple[str, datetime]:
    """A zone and an instant: two in three within thirty hours of a change of its clock."""
    name = draw(st.sampled_from(names))
    changes = clock(name).changes(FIRST, LAST)
    if changes and draw(st.integers(0, 2)):
        change = draw(st.sampled_from(changes))
        reach = draw(st.sampled_from([1, 3_600, 7_200, 30 * 3_600]))
        at = utc(change.at + draw(st.integers(-reach, reach)))
    else:
        at = utc(draw(st.integers(86_400, epoch(datetime(2150, 1, 1, tzinfo=UTC)))))
    return name, at + timedelta(microseconds=draw(st.sampled_from([0, 0, 1, 500_000, 999_999])))
