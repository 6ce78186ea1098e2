"""One reader of WHEN: every way in takes a text for the same kind, and for the same slots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import rota
from rota.cli import fields as cli
from rota.errors import InvalidInput
from rota.library.collected import trigger_of
from rota.schedules import fields
from rota.triggers.parse import kind, parse
from rota.triggers.preview import slots

NOW = datetime(2026, 7, 29, 14, 20, 30, tzinfo=UTC)

#: Texts at the edges of the five kinds: the kind, and whether it can be read as one.
EDGES = [
    ("CRON_TZ=UTC 5 4 3 2 1", "cron_expr", False),
    ("TZ=UTC 0 9 * * *", "cron_expr", False),
    ("@daily", "cron_expr", True),
    (" @hourly ", "cron_expr", True),
    ("@every 5m", "cron_expr", False),
    ("weekdays @ 9am", "text", True),
    ("5 4 3 2 1", "cron_expr", True),
    ("0 9 1 JAN FRI", "cron_expr", True),
    ("0 9 L * FRI#2", "cron_expr", True),
    ("1-5 9 1 1 1", "cron_expr", True),
    ("0 9", "cron_expr", False),
    ("5", "cron_expr", False),
    ("60000", "cron_expr", False),
    ("5,10", "cron_expr", False),
    ("every monday #1", "cron_expr", False),
    ("5m", "interval", True),
    (" 5m ", "interval", True),
    ("PT5M", "interval", True),
    ("1h 30m", "interval", True),
    ("60000ms", "interval", True),
    ("every:60000", "interval", True),
    ("every: 60000", "interval", True),
    ("every 60000", "text", False),
    ("every 60000ms", "text", True),
    ("every 5m", "text", True),
    ("EVERY 5 MINUTES", "text", True),
    ("2027-01-01", "run_at", True),
    (" 2027-01-01T09:00:00Z ", "run_at", True),
    ("2027-01-01 09:00 Europe/Madrid", "text", True),
    ("2027-01-01 9am", "text", True),
    ("in 20 minutes", "text", True),
    ("12/1 at 5", "text", False),
    ("FREQ=DAILY", "rrule", True),
    (" rrule:freq=daily", "rrule", True),
    ("RRULE:FREQ=DAILY (Europe/Madrid)", "text", True),
    ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY", "rrule", True),
    ("by the rule FREQ=DAILY", "text", True),
]


@pytest.mark.parametrize(("when", "expected"), [edge[:2] for edge in EDGES])
def test_the_command_line_and_the_library_take_a_text_for_what_parse_takes_it_for(
    when: str, expected: str
) -> None:
    assert kind(when) == expected
    assert [*cli.trigger(when)] == [expected]
    assert [*trigger_of(when, after=None, on=None, timezone=None)] == [expected]


def _parsed(when: str) -> list[datetime] | None:
    try:
        trigger = parse(when, now=NOW)
    except InvalidInput:
        return None
    return slots(trigger, after=NOW, count=3)


def _stored(given: dict[str, Any]) -> list[datetime] | None:
    try:
        made = fields.read({"name": "x", "job_type": "y", **given}, now=NOW)
    except InvalidInput:
        return None
    return slots(made.trigger, after=NOW, count=3)


@pytest.mark.parametrize(("when", "is_read"), [(edge[0], edge[2]) for edge in EDGES])
def test_every_way_in_reads_the_same_slots_or_refuses(when: str, is_read: bool) -> None:
    expected = _parsed(when)
    assert (expected is not None) == is_read
    assert _stored(cli.trigger(when)) == expected
    assert _stored(trigger_of(when, after=None, on=None, timezone=None)) == expected
    assert _stored({"text": when}) == expected
    if is_read:
        assert rota.preview(when, after=NOW, count=3) == expected


@pytest.mark.parametrize("when", ["every:60000", "every: 60000", "EVERY:60000", "60000ms"])
def test_the_signature_of_an_interval_is_milliseconds(when: str) -> None:
    trigger = parse(when)
    assert trigger.next_after(NOW) == NOW + timedelta(minutes=1)
    assert trigger.signature == "every:60000"
    assert parse(trigger.signature) == trigger
    assert _stored({"interval": when}) == [NOW + n * timedelta(minutes=1) for n in (1, 2, 3)]


@pytest.mark.parametrize("when", ["every 60000", "60000"])
def test_a_number_without_a_unit_is_refused_with_the_choices(when: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(when, now=NOW)
    assert "60000 seconds" in caught.value.message
    assert "60000ms" in caught.value.message


def test_a_field_called_every_is_refused_with_the_units_it_may_mean() -> None:
    with pytest.raises(InvalidInput) as caught:
        fields.read({"name": "x", "job_type": "y", "every": 60000}, now=NOW)
    assert "did you mean interval" in caught.value.message
    assert '"60s" or "60000ms"' in caught.value.message


@pytest.mark.parametrize("number", [60000, 60000.0, 30000, 3_600_000])
def test_a_number_that_looks_like_milliseconds_is_seconds_and_says_so(number: float) -> None:
    made = fields.read({"name": "x", "job_type": "y", "interval": number}, now=NOW)
    (warning,) = made.warnings
    assert f"{number:.0f} is read as seconds" in warning
    assert f'"{number:.0f}ms"' in warning
    given = {"monitor": {"expect": number}}
    assert len(fields.read({"name": "x", **given}, now=NOW).warnings) == 1


@pytest.mark.parametrize("number", [1, 60, 90, 300, 3600, 86400, 604800])
def test_a_number_of_seconds_as_people_write_them_says_nothing(number: float) -> None:
    made = fields.read({"name": "x", "job_type": "y", "interval": number}, now=NOW)
    assert made.warnings == ()


def test_a_monitor_may_expect_a_ping_every_so_many_seconds() -> None:
    made = fields.read({"name": "x", "monitor": {"expect": 1_234_567}}, now=NOW)
    expected = made.definition.expected(NOW)
    assert expected is not None
    assert expected.next_after(NOW) == NOW + timedelta(seconds=1_234_567)
