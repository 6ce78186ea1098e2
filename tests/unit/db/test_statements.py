"""What statements may contain, and which module may write which table."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

_SOURCES = Path(str(resources.files("rota")))


def test_no_statement_names_a_row_by_its_place_on_disk() -> None:
    """A row's `ctid` means nothing across partitions, or across the databases of several cells."""
    found = [
        path.relative_to(_SOURCES).as_posix()
        for path in sorted(_SOURCES.rglob("*"))
        if path.suffix in {".py", ".sql"} and re.search(r"\bctid\b", path.read_text())
    ]
    assert found == []


_WRITERS_OF_TIMERS = frozenset(
    {"timers/store.py", "schedules/together_sql.py", "schedules/calendars/rearm_sql.py"}
)
"""`timers.store` owns the table. The others are still to go through it; no more may join them."""


def test_one_module_writes_timers() -> None:
    writes = re.compile(r"\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(?:rota\.)?timers\b")
    found = {
        path.relative_to(_SOURCES).as_posix()
        for path in sorted(_SOURCES.rglob("*.py"))
        if writes.search(path.read_text())
    }
    assert "timers/store.py" in found
    assert found <= _WRITERS_OF_TIMERS
