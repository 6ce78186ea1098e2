"""Documents to try things with, and a server that is a dictionary.

The stand-in keeps exactly what the real one keeps, by its own field reader; that the real one does
the same is shown in tests/process/test_cli_apply.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import strategies as st

from rota.cli.declare import plan as plans
from rota.cli.declare import wanted as wanting
from rota.cli.declare.documents import Document, Entry, Read
from rota.cli.declare.problems import InvalidDeclaration, Place
from rota.cli.declare.standing import Standing, of_record
from rota.schedules import fields

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
TASK = {"cron_expr": "0 9 * * *", "job_type": "sweep"}
HTTP = {"interval": "5m", "target_url": "https://acme.example/hook"}


def document(*entries: dict[str, Any], owner: str | None = "ops", **defaults: Any) -> Document:
    placed = tuple(
        Entry(place=Place(file="f.yaml", part=f"schedules[{at}]"), fields=each)
        for at, each in enumerate(entries)
    )
    return Document(place=Place(file="f.yaml"), owner=owner, defaults=defaults, entries=placed)


def want(*documents: Document) -> list[wanting.Wanted]:
    return wanting.read(Read(documents), now=NOW)


def problems(*documents: Document) -> list[str]:
    try:
        want(*documents)
    except InvalidDeclaration as error:
        return [str(each) for each in error.problems]
    return []


class Server:
    """Schedules by key, kept and shown as the server does."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def put(self, key: str, given: dict[str, Any]) -> None:
        parsed = fields.read({**given, "key": key}, now=NOW, require_future=False)
        old = self.records.get(key)
        paused = old is not None and old["status"] == "paused"
        if "enabled" in parsed.given or old is None:
            paused = not parsed.definition.enabled
        shown = dict.fromkeys(parsed.definition.__struct_fields__) | fields.write(parsed.definition)
        status = "paused" if paused else "active" if parsed.next_slot else "completed"
        record = {**shown, "id": f"sch_{key}", "status": status, "enabled": not paused}
        record["next_fire_at"] = None if paused else _text(parsed.next_slot)
        # Through JSON, as all that comes from a server.
        self.records[key] = msgspec.json.decode(msgspec.json.encode(record))

    def standing(self) -> list[Standing]:
        return [of_record(record) for record in self.records.values()]

    def plan(
        self, *documents: Document, prune: bool = False, take_over: bool = False
    ) -> plans.Plan:
        owners = Read(documents).owners
        return plans.make(
            want(*documents), self.standing(), owners=owners, prune=prune, take_over=take_over
        )

    def apply(self, plan: plans.Plan) -> None:
        assert not plan.refused
        for each in (*plan.creates, *(change.wanted for change in plan.changes)):
            self.put(each.key, dict(each.given))
        for gone in plan.removals:
            del self.records[gone.key]


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat().replace("+00:00", "Z")


_TEXT = st.text("ab ñ:#'\"\n\\*-", max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_WHEN = st.sampled_from(
    [
        {"cron_expr": "0 9 * * MON-FRI", "timezone": "America/New_York"},
        {"cron_expr": "*/5 * * * *"},
        {"interval": "90s"},
        {"interval": 300},
        {"run_at": "2027-06-01T09:00:00Z"},
        {"run_at": "2027-06-01T09:00", "timezone": "Europe/Madrid"},
        {"rrule": "FREQ=WEEKLY;BYDAY=MO"},
        {"text": "every day at 9am Europe/Madrid"},
        {"cron_expr": "0 0 1 * *", "start_at": "2027-02-01T00:00:00+01:00", "max_firings": 3},
    ]
)
_WHERE = st.sampled_from(
    [
        {"target_url": "https://acme.example/a"},
        {"target_url": "https://acme.example/b", "method": "PUT", "headers": {"X-Team": "ops"}},
        {"target_url": "https://acme.example/c", "success_on": ["2xx", 404]},
        {"job_type": "sweep"},
        {"job_type": "sweep", "queue": "slow", "timeout_seconds": 60},
        {"celery_task": "tasks.sweep"},
    ]
)
_MORE = st.fixed_dictionaries(
    {},
    optional={
        "description": st.sampled_from(["", "For the night"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
        "payload": _JSON,
        "backoff_delay": st.sampled_from(["5s", "2h", 30]),
        "misfire_policy": st.sampled_from(["skip", "fire_late"]),
        "priority": st.integers(0, 9),
        "enabled": st.booleans(),
    },
)


@st.composite
def entries(draw: st.DrawFn, *, keys: str = "abcdef") -> list[dict[str, Any]]:
    """Entries of different keys, in any order."""
    chosen = draw(st.lists(st.sampled_from(keys), unique=True, max_size=len(keys)))
    return [
        {"key": key, **draw(_WHEN), **draw(_WHERE), **draw(_MORE)}
        | draw(st.sampled_from([{}, {"name": f"The {key}"}]))
        for key in chosen
    ]
