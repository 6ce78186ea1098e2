"""Who writes which table: every SQL statement in the source is read, and none is run.

Each table has one owner (docs/architecture.md). Another package that wrote it would write it by
rules of its own, and the copies would drift apart.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import rota

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(rota.__file__).parent

OWNERS: Final = {
    "queue": "rota.queue",
    "firings": "rota.queue",
    "attempts": "rota.queue",
    "timers": "rota.timers",
    "schedules": "rota.schedules",
}

EXCEPTIONS: Final = {
    # Retention deletes what is too old to keep, whatever it says.
    "rota.history.sql": {"firings", "attempts"},
}
"""Which modules may write tables of others, each for the reason above it."""

INSERTS: Final = {
    "queue": {"rota.queue.enqueue"},
    "firings": {"rota.queue.record"},
    "timers": {"rota.timers.store"},
}
"""Which modules may add rows: what is stored of a firing or a timer is said in one place."""

UNKNOWN: Final = "?"
"""Stands for what is not a literal."""

_TABLE: Final = rf"(?:ONLY\s+)?(?:rota\.)?\"?(\w+|\{UNKNOWN})"
_WRITES: Final = re.compile(
    rf"\b(INSERT\s+INTO|MERGE\s+INTO|DELETE\s+FROM|COPY|TRUNCATE(?:\s+TABLE)?)\s+{_TABLE}"
    # With SET, so that neither FOR UPDATE nor a sentence is taken for a statement.
    rf"|\b(UPDATE)\s+{_TABLE}\"?(?:\s+(?:AS\s+)?\w+)?\s+SET\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Write:
    """A statement, or a part of one, that writes a table."""

    module: str
    line: int
    verb: str
    table: str

    @property
    def is_exception(self) -> bool:
        return self.table in EXCEPTIONS.get(self.module, ())

    @property
    def is_owners(self) -> bool:
        owner = OWNERS.get(self.table)
        return owner is None or self.module == owner or self.module.startswith(f"{owner}.")


def writes_of(source: str, module: str) -> Iterator[Write]:
    """The writes in all texts of a module, joined as far as they are joined in one expression."""
    for line, text in _texts(ast.parse(source)):
        for found in _WRITES.finditer(text):
            verb, table, update, updated = found.groups()
            yield Write(
                module,
                line + text.count("\n", 0, found.start()),
                " ".join((verb or update).upper().split()[:1]),
                _whole(table or updated),
            )


def _whole(table: str) -> str:
    """The table, of which it may be a partition."""
    found = re.fullmatch(r"(firings|attempts)_\w+", table.lower())
    return found[1] if found else table.lower()


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # A docstring.
        if isinstance(node, ast.expr) and (text := _text(node)) is not None:
            yield node.lineno, text
            for call in _calls(node):
                yield from _texts(call)
        elif isinstance(node, ast.Call) and (table := _copied(node)) is not None:
            yield node.lineno, f"COPY {table}"
        else:
            yield from _texts(node)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls within a text, which have texts of their own."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Call):
            yield part
        else:
            yield from _calls(part)


def _text(node: ast.expr) -> str | None:
    """What the expression's literals say; None when it is no text."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(_text(each) or UNKNOWN for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _text(left), _text(right)
            return None if parts == (None, None) else "".join(each or UNKNOWN for each in parts)
        case _:
            return None


def _copied(call: ast.Call) -> str | None:
    """The table of a driver's `copy_…` method."""
    match call:
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(table)), *_]):
            return table if name.startswith("copy_") else None
        case _:
            return None


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def writes() -> list[Write]:
    return sorted(
        write
        for path in ROOT.rglob("*.py")
        for write in writes_of(path.read_text(), module_of(path))
    )


def test_only_its_owner_writes_a_table(writes: list[Write]) -> None:
    assert [each for each in writes if not each.is_owners and not each.is_exception] == []


def test_no_exception_is_left_over(writes: list[Write]) -> None:
    found = {(each.module, each.table) for each in writes if not each.is_owners}
    assert {(module, table) for module, tables in EXCEPTIONS.items() for table in tables} <= found


def test_every_table_with_an_owner_is_written_by_it(writes: list[Write]) -> None:
    """The reader sees the statements at all."""
    assert {each.table for each in writes if each.is_owners} >= OWNERS.keys()


@pytest.mark.parametrize("table", INSERTS)
def test_rows_are_added_in_one_module(writes: list[Write], table: str) -> None:
    found = {each.module for each in writes if each.verb == "INSERT" and each.table == table}
    assert found <= INSERTS[table]


def test_firings_are_recorded_by_one_statement_of_the_queue(writes: list[Write]) -> None:
    found = [each for each in writes if each.verb == "INSERT" and each.table == "firings"]
    assert [each.module for each in found].count("rota.queue.record") == 1


def test_every_statement_names_its_table(writes: list[Write]) -> None:
    """A table that is put together at run time is written by somebody whom nobody can see."""
    assert [each for each in writes if each.table == UNKNOWN] == []


BAD: Final = '''
"""INSERT INTO queue: of a docstring, which is no statement."""

PLAIN = "INSERT INTO queue (id) VALUES ($1)"
JOINED = "WITH x AS (" + part("delete from only rota.firings f") + """)
    UPDATE timers AS t
       SET due_at = now()"""
NESTED = part("UPDATE " + "schedules SET " + columns)
FORMATTED = f"INSERT INTO attempts ({columns}) SELECT {columns}"
HIDDEN = f"DELETE FROM {table}"
LOCKED = "SELECT id FROM queue FOR UPDATE OF queue"
SAID = "to update queue is not to set it"

async def copies(connection):
    await connection.copy_records_to_table("firings", records=[])
    return {"text": ["TRUNCATE TABLE attempts_default"]}
'''


def test_the_reader_finds_what_is_hidden_in_a_sample() -> None:
    found = [(each.line, each.verb, each.table) for each in writes_of(BAD, "rota.watch.bad")]
    assert sorted(found) == [
        (4, "INSERT", "queue"),
        (5, "DELETE", "firings"),
        (6, "UPDATE", "timers"),
        (8, "UPDATE", "schedules"),
        (9, "INSERT", "attempts"),
        (10, "DELETE", UNKNOWN),
        (15, "COPY", "firings"),
        (16, "TRUNCATE", "attempts"),
    ]
    assert not any(each.is_owners for each in writes_of(BAD, "rota.watch.bad") if each.line < 10)
    assert not any(each.is_owners for each in writes_of("X='DELETE FROM queue'", "rota.queues"))
    assert all(each.is_owners for each in writes_of("X='DELETE FROM queue'", "rota.queue.sub.x"))
