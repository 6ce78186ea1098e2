"""What NOTIFY says (S10): every session of the database may listen, so nothing of a tenant's is in
it but ids, and the names of lanes and hosts, by which workers are woken."""

from __future__ import annotations

import re
from pathlib import Path

import rota

SAID = {
    "rota_cancel": r"(\w+\.)?id::text",
    "rota_circuits": r"(\w+\.)?host",
    "rota_queue": r"(\w+\.|v_)?lane",
    "rota_recall": r"(\w+\.)?schedule_id::text",
    "rota_timers": r"(\w+\.)?shard::text",
}
"""By channel: the one thing that is said on it."""

_CALL = re.compile(r"pg_notify\(\s*('(?P<channel>\w+)')?[^,]*,\s*(?P<said>[^)]*)\)")


def test_notices_hold_ids_shards_lanes_and_hosts_and_nothing_else() -> None:
    root = Path(rota.__file__).parent
    calls = [
        (file.name, found["channel"], found["said"].strip())
        for pattern in ("*.py", "*.sql")
        for file in sorted(root.rglob(pattern))
        for found in _CALL.finditer(file.read_text("utf-8"))
    ]
    assert len(calls) >= 10
    wrong = [each for each in calls if not re.fullmatch(SAID.get(each[1] or "", "(?!)"), each[2])]
    assert wrong == [], "say in SAID what is said on the channel, and that it is nobody's secret"
