"""`python -m bench [NAME ...]`: run benchmarks and write down what they found."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from rich.console import Console

from bench.frame import machine, markdown, plot, store
from bench.frame.discover import benchmarks
from bench.frame.measure import Session
from bench.frame.results import Report
from rota.clock import SystemClock

FOLDER = Path(__file__).parent
FEWEST_ROUNDS = 7
ROUNDS = 11
QUICK_ROUNDS = 2


def main() -> int:
    """Run what was asked for. A goal missed is told, but is no failure: the machine may be busy."""
    known = benchmarks()
    asked = _arguments(list(known))
    console = Console(stderr=True, highlight=False, markup=False)
    missed = 0
    for name in asked.names or known:
        benchmark = known[name]
        facts = machine.facts(benchmark.packages)
        with Session(name, rounds=asked.rounds, console=console) as session:
            rows = benchmark.run(session)
        missed += sum(row.reached is False for row in rows)
        if asked.quick:
            continue
        report = Report(name, benchmark.title, asked.date, facts, benchmark.method, tuple(rows))
        store.save(FOLDER / "results", report)
        plot.save(FOLDER / "plots", report)
    if asked.quick:
        console.print(f"Nothing written: too few rounds to go by; goals missed: {missed}.")
        return 0
    markdown.save(FOLDER / "RESULTS.md", store.load_all(FOLDER / "results"))
    console.print(f"Written to {FOLDER.name}/RESULTS.md; goals missed: {missed}.")
    return 0


def _arguments(known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; else all")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="default: %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help="see that all runs: few rounds, nothing written"
    )
    parser.add_argument(
        "--date",
        type=date.fromisoformat,
        default=SystemClock().now().date(),
        help="the date to write down; default: today",
    )
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(known)):
        parser.error(f"expected some of {', '.join(known)}, got {', '.join(unknown)}")
    if asked.quick:
        asked.rounds = QUICK_ROUNDS
    elif asked.rounds < FEWEST_ROUNDS:
        parser.error(f"expected at least {FEWEST_ROUNDS} rounds, got {asked.rounds}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
