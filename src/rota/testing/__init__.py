"""For the tests of programs that use Rota: a day of schedules in milliseconds.

    kit = TestKit(rota, now="2026-03-01T00:00Z")
    kit.advance(hours=24)
    assert [run.outcome for run in kit.runs] == ["succeeded"] * 24

`kit` is the one object that a test makes. `world` has the schedules and what waits of them; the
engine's own rules (triggers, misfire, overlap, retry, steps) say what becomes of them. `calling`
calls the real functions as a worker does, and `asked` answers in place of the database. No clock is
read, nothing is waited for, nothing is stored. What is not imitated is listed in
docs/guides/test-your-schedules.md.
"""

from __future__ import annotations

from rota.testing.errors import NotEnded, Runaway
from rota.testing.kit import TestKit
from rota.testing.records import Call, Enqueued, NotRun, Run, Runs

__all__ = ["Call", "Enqueued", "NotEnded", "NotRun", "Run", "Runaway", "Runs", "TestKit"]
