"""Punctuality: when a request arrives after its instant, next to loops that only send."""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from bench.api.stand import stand
from bench.frame.discover import Benchmark
from bench.frame.results import Figure, Goal, Row
from bench.punctuality import measure, tasks
from bench.punctuality.cases import CASES
from bench.punctuality.certificate import write_certificate
from bench.punctuality.measure import Field, p99
from bench.punctuality.target import serving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.frame.measure import Session
    from bench.punctuality.cases import Case

AT_INSTANT = "bare loop, connects at the instant"
AHEAD = "bare loop, connected ahead"
GOAL = 1 / 1.5
MOST_RUNS = 3

_METHOD = (
    (
        "`rota serve` as a process of its own, with all its roles and default settings, on an "
        "embedded PostgreSQL with durable commits. The target is another process, which notes the "
        "wall-clock time of the first byte of each request. Lateness is that time less the slot "
        "that the request names. Everything shares the machine's cores and its clock."
    ),
    (
        "The bare loops run in turns with Rota, in the benchmark's process, on uvloop: they send "
        "requests of the same size at the same instants, to the same target, and record nothing. "
        "One opens a connection for each request at its instant, the other two seconds before. "
        "The server is idle then."
    ),
)


def run(session: Session) -> list[Row]:
    """Case by case."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(session))


async def _run(session: Session) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder:
        certificate = write_certificate(Path(folder))
        # The server that is started trusts it as well.
        os.environ["SSL_CERT_FILE"] = str(certificate)
        trusted = ssl.create_default_context(cafile=str(certificate))
        with serving(str(certificate)) as target:
            async with stand(session) as server:
                field = Field(stand=server, target=target, trusted=trusted)
                return [await _row(session, field, each) for each in _CONTESTS]


@dataclass(frozen=True, slots=True)
class _Contest:
    """A piece of work, as Rota does it and as a bare loop does, connected ahead or not."""

    title: str
    ours: Callable[[Field], Awaitable[list[float]]]
    bare: Callable[[Field, bool], Awaitable[list[float]]]
    note: str = ""


def _of_case(case: Case) -> _Contest:
    return _Contest(
        case.title,
        lambda field: measure.by_rota(field, case),
        lambda field, ahead: measure.by_bare_loop(field, case, ahead=ahead),
        case.note,
    )


_KINDS: tuple[tuple[tasks.Kind, str], ...] = (
    ("async", "`async def`"),
    ("thread", "`def`, in a thread"),
)

_CONTESTS = (
    *map(_of_case, CASES),
    *(
        _Contest(
            f"{tasks.COUNT} tasks every second, {words}",
            lambda field, kind=kind: tasks.by_rota(field, kind),
            lambda _, __, kind=kind: tasks.by_bare_loop(kind),
            "A program of its own, with a worker; the bare loop calls the same function, and has "
            "nothing to connect to.",
        )
        for kind, words in _KINDS
    ),
    _Contest(
        "Created one second before the slot",
        measure.created_soon,
        lambda field, ahead: measure.sent_soon(field, ahead=ahead),
    ),
    _Contest(
        "Manual run, from the request to its first byte",
        measure.manual_runs,
        lambda field, ahead: measure.bare_runs(field, ahead=ahead),
        "The bare loops send to the target themselves: no API, no database.",
    ),
)


async def _row(session: Session, field: Field, contest: _Contest) -> Row:
    """Rota and both loops in turns; the 99th percentile of each run."""
    ours: list[float] = []
    at_instant: list[float] = []
    ahead: list[float] = []
    most = min(session.rounds, MOST_RUNS)
    for number in range(1, most + 1):
        session.at(contest.title, f"run {number} of {most}")
        ours.append(p99(await contest.ours(field)))
        at_instant.append(p99(await contest.bare(field, False)))
        ahead.append(p99(await contest.bare(field, True)))
    row = Row(
        f"{contest.title}, p99",
        "ms",
        Figure("Rota", tuple(ours)),
        (Figure(AT_INSTANT, tuple(at_instant)), Figure(AHEAD, tuple(ahead))),
        Goal(GOAL, AT_INSTANT),
        contest.note,
        better="less",
    )
    session.tell(row)
    return row


BENCHMARK = Benchmark("Punctuality", (), _METHOD, run)
