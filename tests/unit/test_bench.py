"""The frame of the benchmarks: what it computes from runs, and how it shows that. No timing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import date
from typing import TYPE_CHECKING

import pytest
from bench.frame import markdown, plot, store
from bench.frame.results import Figure, Goal, Machine, Report, Row
from bench.frame.words import TIMES, number, times

if TYPE_CHECKING:
    from pathlib import Path

OURS = Figure("Rota", (600.0, 300.0, 900.0))
PEER = Figure("peer & co", (100.0, 100.0, 90.0))
MACHINE = Machine(2, 0.5, "Linux x86_64", "CPython 3.11.0", {"peer": "1.2"})


def row(goal: Goal | None = None) -> Row:
    return Row("Work", "per second", OURS, (PEER,), goal, note="A note.")


def report(name: str, *rows: Row) -> Report:
    return Report(name, name.title(), date(2026, 3, 1), MACHINE, ("A method.",), rows)


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    assert row().ratios(PEER) == (6.0, 3.0, 10.0)
    assert row().ratio(PEER) == 6.0


def test_with_less_being_better_a_ratio_above_one_is_still_ahead() -> None:
    lateness = Row("Lateness", "ms", PEER, (OURS,), better="less")
    assert lateness.ratio(OURS) == 6.0
    assert lateness.ours.best("less") == 90.0


@pytest.mark.parametrize(
    ("goal", "reached"),
    [
        (None, None),
        (Goal(5, "peer & co"), True),
        (Goal(7, "peer & co"), False),
        (Goal(600), True),
        (Goal(601), False),
    ],
)
def test_a_goal_is_reached_or_not(goal: Goal | None, reached: bool | None) -> None:
    assert row(goal).reached is reached


def test_where_less_is_better_a_goal_is_an_upper_bound() -> None:
    assert Row("Lateness", "ms", PEER, goal=Goal(100), better="less").reached is True
    assert Row("Lateness", "ms", PEER, goal=Goal(99), better="less").reached is False


def test_the_page_has_the_goals_the_machine_and_every_run() -> None:
    page = markdown.page([report("cron", row(Goal(5, "peer & co")))])
    assert f"| Cron | Work | at least 5{TIMES} peer & co | reached: 6{TIMES} |" in page
    assert "2026-03-01; Linux x86_64, 2 cores" in page
    assert "peers: peer 1.2" in page
    assert "| Rota | 600 | 300 | 900 |" in page
    assert "| peer & co | 100 | 100 | 90 |" in page


def test_what_was_not_run_this_time_stays_on_the_page(tmp_path: Path) -> None:
    store.save(tmp_path, report("old", row()))
    store.save(tmp_path, report("new", row(Goal(5, "peer & co"))))
    kept = store.load_all(tmp_path)
    assert kept == [report("new", row(Goal(5, "peer & co"))), report("old", row())]
    assert "## Old" in markdown.page(kept)


def test_the_chart_is_xml_with_a_bar_for_every_contestant() -> None:
    root = ET.fromstring(plot.draw(report("cron", row(), row())))
    bars = [each.get("class") for each in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars == ["page", "ours", "peer", "ours", "peer"]


def test_numbers_have_three_digits_that_matter() -> None:
    shown = [number(value) for value in (0, 0.012345, 5.678, 99.96, 1234.5, 2_345_678)]
    assert shown == ["0", "0.0123", "5.68", "100", "1,230", "2,350,000"]
    assert [times(0.25), times(1234)] == [f"0.25{TIMES}", f"1,230{TIMES}"]


def test_a_figure_of_nothing_is_shown_and_not_divided_by() -> None:
    idle = Row("idle", "s", Figure("Rota", (0.0, 1.0)), (Figure("x", (2.0, 2.0)),), better="less")
    assert idle.ratios(idle.ours) == (1.0, 1.0)
    assert idle.ratios(idle.peers[0]) == (float("inf"), 2.0)
