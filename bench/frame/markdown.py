"""`RESULTS.md`: the goals at a glance, then a section for each benchmark with every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.frame.words import goal, number, times, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bench.frame.results import Figure, Report, Row

_INTRODUCTION = """\
# Benchmark results

Written by `make bench`. All contestants of a table ran in the same process and the same rounds,
taking turns; a ratio is computed for each round, and the median of the ratios is shown with their
range. A ratio above 1 means that Rota is ahead of that peer, one below that it is behind.
"""


def save(path: Path, reports: Sequence[Report]) -> None:
    """Write the page."""
    path.write_text(page(reports), encoding="utf-8")


def page(reports: Sequence[Report]) -> str:
    """The whole page."""
    parts = [_INTRODUCTION, _goals(reports), *(_section(report) for report in reports)]
    return "\n".join(part for part in parts if part)


def _goals(reports: Iterable[Report]) -> str:
    wanted = [
        (report.title, row.title, goal(row), verdict(row))
        for report in reports
        for row in report.rows
        if row.goal is not None
    ]
    if not wanted:
        return ""
    return f"## Goals\n\n{_table(('benchmark', 'work', 'goal', 'result'), wanted)}"


def _section(report: Report) -> str:
    machine = report.machine
    peers = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    where = f"{machine.system}, {machine.cores} cores, load {machine.load:g} at the start"
    facts = f"Taken on {report.taken_on}; {where}; {machine.python}; peers: {peers or 'none'}."
    method = "".join(f"{paragraph}\n\n" for paragraph in report.method)
    plot = f"![{report.title}](plots/{report.name}.svg)\n"
    rows = "\n".join(_work(row) for row in report.rows)
    return f"## {report.title}\n\n{facts}\n\n{method}{plot}\n{rows}"


def _work(row: Row) -> str:
    head = ("", f"median {row.unit}", f"best {row.unit}", "Rota is ahead by", "range")
    lines = [_line(row, row.ours, ours=True), *(_line(row, peer) for peer in row.peers)]
    if not row.peers:
        head, lines = head[:3], [line[:3] for line in lines]
    parts = [f"### {row.title}\n", _table(head, lines)]
    if row.goal is not None:
        parts.append(f"Goal: {goal(row)}; {verdict(row)}.\n")
    if row.note:
        parts.append(f"{row.note}\n")
    return "\n".join([*parts, _runs(row)])


def _line(row: Row, figure: Figure, *, ours: bool = False) -> tuple[str, ...]:
    ratios = row.ratios(figure)
    ahead = "" if ours else times(row.ratio(figure))
    spread = "" if ours else f"{times(min(ratios))} to {times(max(ratios))}"
    return (figure.name, number(figure.median), number(figure.best(row.better)), ahead, spread)


def _runs(row: Row) -> str:
    rounds = [f"round {index}" for index in range(1, len(row.ours.runs) + 1)]
    lines = [(each.name, *map(number, each.runs)) for each in (row.ours, *row.peers)]
    table = _table(("", *rounds), lines)
    return f"<details><summary>All runs, {row.unit}</summary>\n\n{table}\n</details>\n"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---", *("---:" if _is_figures(title) else "---" for title in head[1:])]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))


def _is_figures(title: str) -> bool:
    return title.startswith(("median", "best", "round", "Rota", "range"))
