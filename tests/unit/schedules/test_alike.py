"""Reading many items is reading each: quicker where they are alike, and no other in any way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.schedules import fields
from rota.schedules.alike import Reader
from rota.schedules.alike_kept import Memory
from rota.schedules.errors import InvalidSchedule
from rota.targets import TargetPolicy

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STRICT = TargetPolicy(https_only=True)

ITEM: dict[str, Any] = {
    "name": "Report",
    "key": "report",
    "cron_expr": "0 9 * * *",
    "target_url": "https://hooks.example.com/run",
}

# What items differ in: right and wrong, of every kind that JSON has.
OTHER: dict[str, list[Any]] = {
    "name": ["Invoice", " padded ", "", "x" * 300, None, 7, "tab\there", "Größe 😀"],
    "key": ["k", " k ", "x" * 301, "", None, True, ["k"], "new\nline"],
    "cron_expr": ["*/5 * * * *", "0 0 30 2 *", "nonsense", None, 5, ["* * * * *"], "* * * * * *"],
    "interval": ["5m", 300, True, 1, "1s", None, {"a": 1}, 0.5],
    "timezone": ["Europe/Berlin", "Nowhere", None, 5],
    "target_url": [
        *(
            "https://hooks.example.com/other?x=1#y",
            "http://hooks.example.com/",
            "https://a@b.example/",
        ),
        *("https://hooks.example.com/${secrets.KEY}", "https://hooks.example.com/${secrets.-}"),
        *(
            "https://localhost/",
            "https://10.0.0.1/",
            "ftp://x",
            "https://hooks.example.com/\\",
            5,
            None,
        ),
        *(
            "https://HOOKS.example.com/",
            "https://hooks.example.com:0/",
            "x" * 3000,
            " https://a.example",
        ),
    ],
    "payload": [
        {"a": 1},
        {"a": "\0"},
        {"a": "${secrets.KEY}"},
        {"a": "${secrets.}"},
        None,
        [1],
        "x",
    ],
    "tags": [["a"], ["a", "a"], [""], "a", [1], [str(n) for n in range(30)], None, []],
    "description": ["text\nof lines", "bad\0", 5, None, "x" * 6000],
    "max_attempts": [1, True, 1.0, 99, "3", None],
    "enabled": [False, True, 1, None],
    "retry_window": ["1h", 3600, "soon", None],
    "job_type": ["a.b", None],
    "run_at": ["2027-01-01T09:00:00Z", None],
    "max_firings": [3, None],
    "headers": [{"X-Team": "ops"}, {"Host": "x"}, None],
    "body": ["text", None],
    "no_such_field": [1, None],
}


def read(item: dict[str, Any], targets: TargetPolicy) -> object:
    try:
        return fields.read(item, now=NOW, min_interval=MINUTE, targets=targets)
    except InvalidSchedule as problem:
        return problem.problems


def shown(result: object) -> object:
    return result.problems if isinstance(result, InvalidSchedule) else result


@pytest.mark.parametrize("targets", [TargetPolicy(), STRICT])
@pytest.mark.parametrize("name", OTHER)
def test_an_item_that_differs_in_one_field_is_read_as_by_itself(
    name: str, targets: TargetPolicy
) -> None:
    """After one like it, and after itself, so that all that is remembered is used."""
    reader = Reader(now=NOW, min_interval=MINUTE, targets=targets)
    for value in OTHER[name]:
        for item in (ITEM, ITEM | {name: value}, ITEM | {name: value, "key": "another"}):
            assert shown(reader.read(item)) == read(item, targets), item


@settings(max_examples=150)
@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={name: st.sampled_from(values) for name, values in OTHER.items()}
        ),
        min_size=2,
        max_size=6,
    )
)
def test_any_items_are_read_as_by_themselves(changes: list[dict[str, Any]]) -> None:
    reader = Reader(now=NOW, min_interval=MINUTE)
    for change in changes:
        item = ITEM | change
        assert shown(reader.read(item)) == read(item, TargetPolicy(allow_private=True))


def test_what_is_remembered_outlasts_the_instant_and_slots_do_not() -> None:
    memory = Memory()
    for hours in (0, 3, 30, 300):
        now = NOW + timedelta(hours=hours)
        for item in (ITEM, {**ITEM, "key": "b", "interval": "5m", "cron_expr": None}):
            reader = Reader(now=now, min_interval=MINUTE, memory=memory)
            expected = fields.read(item, now=now, min_interval=MINUTE)
            assert reader.read(item) == expected


def test_payloads_are_not_remembered() -> None:
    memory = Memory()
    reader = Reader(now=NOW, min_interval=MINUTE, memory=memory)
    reader.read({**ITEM, "payload": {"large": "x" * 1000}})
    [(frame, _)] = memory.frames.values()
    assert frame.payload is None
