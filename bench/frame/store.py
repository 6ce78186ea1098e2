"""Reports as JSON files, one for each benchmark, so that those not run this time are kept."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from bench.frame.results import Figure, Goal, Machine, Report, Row

if TYPE_CHECKING:
    from pathlib import Path


def save(folder: Path, report: Report) -> None:
    """Write a report, in place of the one before."""
    folder.mkdir(exist_ok=True)
    text = json.dumps(asdict(report), default=date.isoformat, indent=2, ensure_ascii=False)
    (folder / f"{report.name}.json").write_text(f"{text}\n", encoding="utf-8")


def load(path: Path) -> Report:
    """Read a report."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return Report(
        name=found["name"],
        title=found["title"],
        taken_on=date.fromisoformat(found["taken_on"]),
        machine=Machine(**found["machine"]),
        method=tuple(found["method"]),
        rows=tuple(_row(row) for row in found["rows"]),
    )


def load_all(folder: Path) -> list[Report]:
    """Every report that was ever written here, by name."""
    return [load(path) for path in sorted(folder.glob("*.json"))]


def _row(found: dict[str, Any]) -> Row:
    goal = found["goal"]
    return Row(
        title=found["title"],
        unit=found["unit"],
        ours=_figure(found["ours"]),
        peers=tuple(_figure(peer) for peer in found["peers"]),
        goal=None if goal is None else Goal(**goal),
        note=found["note"],
        better=found["better"],
    )


def _figure(found: dict[str, Any]) -> Figure:
    return Figure(found["name"], tuple(found["runs"]))
