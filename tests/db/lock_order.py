"""Watches the order in which transactions lock rows (docs/lock-order.md), by their statements.

A transaction's statements are seen as they are run. A statement that locks rows of a table after
rows of a later table were locked is out of order, unless the transaction has those rows already:
that is told by the ids among the parameters. What one statement does within itself is not seen,
except that it must name an order where it locks several rows. Rows that are locked with SKIP LOCKED
are held and never waited for.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import pytest

from rota.db import Tx, locks
from rota.firing import fire
from rota.queue import dependents

if TYPE_CHECKING:
    from collections.abc import Generator

ORDER = ("dead letters", "timers", "schedules", "followers", "queue")

EXCEPTIONS = {
    # The first end of a schedule that others follow: its rows are locked before it is known that it
    # is followed. `dependents.Upstreams` remembers it from then on.
    "follow": dependents._LOCK,
}
"""Statements that may be out of order; PostgreSQL ends one of two that wait for each other."""

_ROWS = r"(?:rota\.)?(timers|schedules|queue)\b"
_WRITES = re.compile(
    rf"(?<!FOR )(?<!KEY )(?<!DO )\bUPDATE\s+(?:ONLY\s+)?{_ROWS}|DELETE\s+FROM\s+{_ROWS}"
)
_UPSERTS = re.compile(rf"INSERT\s+INTO\s+{_ROWS}(?:(?!INSERT\s).)*?DO\s+UPDATE", re.DOTALL)
_LOCKS = re.compile(
    rf"\bFROM\s+{_ROWS}((?:(?!\bFROM\b).)*?)\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b(\s+OF\s+\w+)?(\s+SKIP\s+LOCKED)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a statement locks."""

    waits: frozenset[str]
    """Of which tables it locks rows, and waits for them."""
    skips: frozenset[str]
    """Of which it locks only rows that nobody else has."""
    unordered: frozenset[str]
    """Of which it locks several rows and names no order."""


@lru_cache(maxsize=4096)
def taken(statement: str) -> Taken:
    waits = {name for found in _WRITES.findall(statement) for name in found if name}
    waits |= set(_UPSERTS.findall(statement))
    skips: set[str] = set()
    unordered: set[str] = set()
    for name, between, _, skip in _LOCKS.findall(statement):
        (skips if skip else waits).add(name)
        if not skip and "ANY (" in between and "ORDER BY" not in between:
            unordered.add(name)
    for name, number in (("dead letters", locks.DEAD_LETTERS), ("followers", locks.FOLLOWERS)):
        if re.search(rf"pg_advisory_xact_lock\({number}\b", statement):
            waits.add(name)
    return Taken(frozenset(waits), frozenset(skips), frozenset(unordered))


@dataclass(slots=True)
class _Held:
    """What a transaction has locked so far: ids by table."""

    ids: dict[str, set[UUID]] = field(default_factory=dict[str, set[UUID]])

    def has(self, table: str, args: tuple[object, ...]) -> bool:
        """Whether the rows that these parameters name are locked already."""
        known = self.ids.get(table)
        if known is None:
            return False
        lists = [set(_uuids(each)) for each in args if not isinstance(each, UUID)]
        if any(lists):
            # One of the columns is of the rows; another may be of tenants or of workers.
            return any(each and each <= known for each in lists)
        return bool({each for each in args if isinstance(each, UUID)} & known) or not any(
            isinstance(each, UUID) for each in args
        )

    def add(self, tables: frozenset[str], args: tuple[object, ...]) -> None:
        found = {id_ for each in args for id_ in _uuids(each)}
        for table in tables:
            self.ids.setdefault(table, set()).update(found)


def _uuids(value: object) -> list[UUID]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, UUID)]


class LockOrder:
    """What has been seen, and what was wrong with it."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._held: dict[int, _Held] = {}

    def run(self, tx: Tx, statement: str, args: tuple[object, ...]) -> None:
        """A transaction is about to run a statement."""
        locked = taken(statement)
        for table in sorted(locked.unordered):
            self.violations.append(f"locks several rows of {table} in no order:\n{statement}")
        if not locked.waits and not locked.skips:
            return
        held = self._held.setdefault(id(tx._state), _Held())
        waits = locked.waits
        if statement == fire._FIRE:
            # It updates the schedules of timers without a next slot ($10), and those alone.
            ids, later = cast("tuple[list[UUID], list[object]]", (args[3], args[9]))
            ended = [id_ for id_, slot in zip(ids, later, strict=True) if slot is None]
            if not ended or held.has("schedules", (ended,)):
                waits -= {"schedules"}
        for table in sorted(waits, key=ORDER.index):
            later = [each for each in held.ids if ORDER.index(each) > ORDER.index(table)]
            if later and not held.has(table, args) and statement not in EXCEPTIONS.values():
                self.violations.append(f"locks {table} after {', '.join(later)}:\n{statement}")
        held.add(locked.waits | locked.skips, args)

    def end(self, tx: Tx) -> None:
        self._held.pop(id(tx._state), None)


@contextmanager
def watched() -> Generator[LockOrder]:
    """Watch all transactions of this process."""
    order = LockOrder()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fetch", "fetch_row", "fetch_value", "execute"):
            patch.setattr(Tx, name, _watching(order, getattr(Tx, name)))
        end = Tx.end

        def ending(tx: Tx) -> None:
            order.end(tx)
            end(tx)

        patch.setattr(Tx, "end", ending)
        yield order


def _watching(order: LockOrder, run: Any) -> Any:
    async def running(tx: Tx, statement: str, *args: object, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals["__name__"]
        # What a test writes by itself to get a state is not the program's order.
        if caller.startswith("rota.") or caller == __name__:
            order.run(tx, statement, args)
        return await run(tx, statement, *args, **options)

    return running
