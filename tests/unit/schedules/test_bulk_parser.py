"""Reading many items is reading each: quicker where they are alike, and no other in any way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.schedules import fields, task_queues
from rota.schedules.bulk_parser import BulkParser, ParseCache
from rota.schedules.errors import InvalidSchedule
from rota.schedules.schedule import NewSchedule
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
    "description": ["text\nof lines", "", "bad\0", 5, None, "x" * 6000],
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


def row(new: NewSchedule | InvalidSchedule) -> object:
    """All that is stored and told of it; the order of a definition's fields does not count."""
    if isinstance(new, InvalidSchedule):
        return new.problems
    definition = msgspec.json.decode(new.definition)
    stored = (new.key, new.name, definition, new.tags, new.paused, new.slot, new.window)
    return (*stored, new.warnings, new.like.celery_targets, task_queues.unplaced(new.like))


def stored(item: dict[str, Any], targets: TargetPolicy) -> object:
    """The same of the item read by itself."""
    parsed = read(item, targets)
    return row(NewSchedule.of(parsed)) if isinstance(parsed, fields.Parsed) else parsed


@pytest.mark.parametrize("targets", [TargetPolicy(), STRICT])
@pytest.mark.parametrize("name", OTHER)
def test_an_item_that_differs_in_one_field_is_read_as_by_itself(
    name: str, targets: TargetPolicy
) -> None:
    """After one like it, and after itself, so that all that is cached is used."""
    parser = BulkParser(now=NOW, min_interval=MINUTE, targets=targets)
    for value in OTHER[name]:
        for item in (ITEM, ITEM | {name: value}, ITEM | {name: value, "key": "another"}):
            assert shown(parser.parse(item)) == read(item, targets), item
            assert row(parser.parse_row(item)) == stored(item, targets), item


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
    parser = BulkParser(now=NOW, min_interval=MINUTE)
    for change in changes:
        item = ITEM | change
        policy = TargetPolicy(allow_private=True)
        assert shown(parser.parse(item)) == read(item, policy)
        assert row(parser.parse_row(item)) == stored(item, policy)


def test_what_is_cached_outlasts_the_instant_and_slots_do_not() -> None:
    cache = ParseCache()
    for hours in (0, 3, 30, 300):
        now = NOW + timedelta(hours=hours)
        for item in (ITEM, {**ITEM, "key": "b", "interval": "5m", "cron_expr": None}):
            parser = BulkParser(now=now, min_interval=MINUTE, cache=cache)
            expected = fields.read(item, now=now, min_interval=MINUTE)
            assert parser.parse(item) == expected


# At the last of these the clocks go forward in Berlin; within one second, and into the next.
INSTANTS = [
    start + timedelta(milliseconds=millis)
    for start in (NOW, datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC))
    for millis in (0, 1, 500, 999, 1000, 1001, 60_000)
]


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(INSTANTS), min_size=2, max_size=6),
    st.sampled_from(["* * * * * *", "*/5 * * * *", "30 2 * * *", "0 12 1 3 *", "0 3 29 3 *"]),
    st.sampled_from(["Europe/Berlin", "UTC"]),
)
def test_a_slot_that_was_cached_a_moment_ago_is_the_slot_that_is_next(
    instants: list[datetime], cron: str, zone: str
) -> None:
    cache = ParseCache()
    item = ITEM | {"cron_expr": cron, "timezone": zone}
    second = timedelta(seconds=1)
    for now in instants:
        parser = BulkParser(now=now, min_interval=second, cache=cache)
        expected = fields.read(item, now=now, min_interval=second)
        assert parser.parse(item) == expected
        assert parser.parse(item | {"key": "b"}) == fields.read(
            item | {"key": "b"}, now=now, min_interval=second
        )


def test_a_tenant_with_a_longer_min_interval_gets_nothing_of_anothers() -> None:
    cache = ParseCache()
    item = ITEM | {"cron_expr": "*/5 * * * *"}
    for min_interval in (MINUTE, 10 * MINUTE, MINUTE):
        parser = BulkParser(now=NOW, min_interval=min_interval, cache=cache)
        found = parser.parse(item)
        assert isinstance(found, InvalidSchedule) == (min_interval > MINUTE)


def test_payloads_are_not_cached() -> None:
    cache = ParseCache()
    parser = BulkParser(now=NOW, min_interval=MINUTE, cache=cache)
    parser.parse({**ITEM, "payload": {"large": "x" * 1000}})
    [(frame, _)] = cache.frames.values()
    assert frame.payload is None
