"""Every advisory lock and every channel is named in `rota.db.locks`, and nowhere else."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from rota.db import locks

_SOURCES = Path(str(resources.files("rota")))
_CHANNELS = {locks.TIMERS, locks.QUEUE, locks.RECALL, locks.CANCEL, locks.CIRCUITS, locks.TENANTS}


def sources(*suffixes: str) -> dict[str, str]:
    return {
        path.relative_to(_SOURCES).as_posix(): path.read_text()
        for path in sorted(_SOURCES.rglob("*"))
        if path.suffix in suffixes
    }


def test_each_class_of_advisory_locks_has_a_number_of_its_own() -> None:
    numbers = [locks.CLAIMS, locks.FOLLOWERS, locks.DEAD_LETTERS, str(locks.SESSIONS)]
    assert len(set(numbers)) == len(numbers)
    assert len({locks.PARTITIONS, locks.RESUMES}) == 2
    assert {each.split(",")[0] for each in (locks.PARTITIONS, locks.RESUMES)} == {
        str(locks.SESSIONS)
    }


def test_no_other_module_numbers_an_advisory_lock() -> None:
    numbered = re.compile(r"advisory\w*lock\w*\(\s*(?:\d|hashtext)")
    found = [name for name, text in sources(".py", ".sql").items() if numbered.search(text)]
    assert found == []


def test_no_other_module_spells_a_channel() -> None:
    spelled = re.compile("|".join(rf"\b{channel}\b" for channel in sorted(_CHANNELS)))
    found = {name for name, text in sources(".py").items() if spelled.search(text)}
    assert found == {"db/locks.py"}


def test_every_channel_that_is_notified_is_named() -> None:
    """Also by functions of the database, which cannot take a name from Python."""
    notified = re.compile(r"pg_notify\(\s*'(\w+)'")
    found = {
        channel for text in sources(".py", ".sql").values() for channel in notified.findall(text)
    }
    assert found
    assert found <= _CHANNELS


def test_a_notice_is_a_part_of_a_statement() -> None:
    assert locks.notify(locks.QUEUE, "lane") == "pg_notify('rota_queue', lane)"
