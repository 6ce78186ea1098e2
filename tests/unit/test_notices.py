"""What NOTIFY says: every session of the database may listen, so nothing of a tenant's is in it but
ids, and the names of lanes and hosts, by which workers are woken."""

from __future__ import annotations

import re
from pathlib import Path

import rota
from rota.db import locks

SAID = {
    "rota_cancel": r"(\w+\.)?id",
    "rota_circuits": r"(\w+\.)?host",
    "rota_queue": r"(\w+\.|v_)?lane",
    "rota_recall": r"(\w+\.)?schedule_id",
    "rota_timers": r"(\w+\.)?shard",
}
"""By channel: the one thing that is said on it."""

ANNOUNCED = {"await tx.announce(CHANNEL, str(tenant_id))"}
"""What is said by `Tx.announce`, which takes its channel and its words as parameters."""

SUFFIXES = {".py", ".sql"}
_CALL = re.compile(r"pg_notify\(\s*('(?P<channel>\w+)')?[^,]*,\s*(?P<said>[^)]*)\)")
_PART = re.compile(
    r"""locks\.notify(_each)?\(\s*locks\.(?P<name>\w+),\s*"(?P<said>[^"]*)"\s*[,)]"""
)


def test_notices_hold_ids_shards_lanes_and_hosts_and_nothing_else() -> None:
    root = Path(rota.__file__).parent
    texts = {file: file.read_text("utf-8") for file in root.rglob("*") if file.suffix in SUFFIXES}
    calls = [
        (file.name, found["channel"], found["said"].strip())
        for file, text in texts.items()
        for found in _CALL.finditer(text)
    ]
    calls.remove(("tx.py", None, "$2"))
    calls.remove(("locks.py", None, '" + payload + "'))
    parts = [
        (file.name, getattr(locks, found["name"]), found["said"])
        for file, text in texts.items()
        for found in _PART.finditer(text)
    ]
    # None is passed over: every call names its channel and its words on the spot.
    assert len(parts) == sum(
        text.count("locks.notify(") + text.count("locks.notify_each(") for text in texts.values()
    )
    assert len(parts) >= 10
    calls += parts
    wrong = [
        each
        for each in calls
        if not re.fullmatch(SAID.get(each[1] or "", "(?!)"), each[2].removesuffix("::text"))
    ]
    assert wrong == [], "say in SAID what is said on the channel, and that it is nobody's secret"


def test_what_is_announced_is_an_id_and_nothing_else() -> None:
    root = Path(rota.__file__).parent
    calls = {
        line.strip()
        for file in root.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if ".announce(" in line
    }
    assert calls == ANNOUNCED
