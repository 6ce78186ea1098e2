"""Reading an API's object: everything wrong at once, nothing silently replaced."""

from __future__ import annotations

import string
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.schedules.examples import MINUTE, MORNING, NOW, TASK, problems, read

from rota.schedules import definition, fields, names
from rota.schedules.errors import InvalidSchedule


def test_the_example_of_the_contract_works_as_it_stands() -> None:
    parsed = read(MORNING)
    assert parsed.definition.key == (
        "morning-report::cron:0 9 * * MON-FRI:America/New_York"  # TR14
    )
    assert parsed.next_slot == datetime(2027, 1, 1, 14, tzinfo=UTC)
    assert parsed.warnings == ()
    assert parsed.given == frozenset(MORNING)


def test_what_is_not_given_has_the_written_defaults() -> None:
    http, task = read(MORNING).definition, read(TASK).definition
    assert (http.timeout_seconds, task.timeout_seconds) == (30, 3600)  # HX2
    assert (http.method, http.lane, http.host) == ("POST", "http", "acme.example")
    assert (task.queue, task.lane, task.host) == (None, "default", None)
    assert http.timezone == "America/New_York"
    assert task.timezone == "UTC"  # TZ1
    assert (task.misfire_policy, task.misfire_cap) == ("fire_late", 10)
    assert (task.misfire_grace, task.misfire_window) == (MINUTE, timedelta(hours=24))
    assert (task.overlap_policy, task.delivery) == ("skip", "at_least_once")  # OV1, DS1
    assert (task.max_attempts, task.backoff) == (3, "exponential")  # RT1
    assert (task.backoff_delay, task.backoff_max) == (timedelta(seconds=5), timedelta(hours=1))
    assert (task.priority, task.jitter_seconds, task.fire_window_seconds) == (5, 0, 0)
    assert (task.capture, task.enabled) == ("all", True)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cron", "cron_expr"),
        ("cronExpression", "cron_expr"),
        ("jobType", "job_type"),
        ("maxRetries", "max_attempts"),
        ("overlapPolicy", "overlap_policy"),
        ("timezome", "timezone"),
        ("prioritty", "priority"),
        ("url", "target_url"),
    ],
)
def test_an_unknown_field_is_refused_and_the_one_meant_is_named(name: str, hint: str) -> None:
    assert problems({**TASK, name: "x"})[name].endswith(f"did you mean {hint}?")


def test_an_unknown_field_like_no_other_is_refused_without_a_guess() -> None:
    assert problems(colour="red") == {"colour": 'Unknown field "colour"'}


def test_a_field_that_is_rotas_to_set_is_refused() -> None:
    assert "set by Rota" in problems(status="active")["status"]


@pytest.mark.parametrize(
    "given_",
    [
        {"cron_expr": "* * * * *", "interval": "5m"},
        {"run_at": "2028-01-01T00:00:00Z", "rrule": "FREQ=DAILY"},
        {},
    ],
)
def test_two_triggers_or_none_are_refused(given_: dict[str, Any]) -> None:
    found = problems({"name": "x", "job_type": "t", **given_})
    ((_, message),) = found.items()
    assert message.startswith("Expected exactly one of cron_expr, interval, run_at, rrule, text")


@pytest.mark.parametrize("given_", [{"target_url": "https://a.example", "job_type": "t"}, {}])
def test_two_targets_or_none_are_refused(given_: dict[str, Any]) -> None:
    found = problems({"name": "x", "interval": "5m", **given_})
    ((_, message),) = found.items()
    assert message.startswith("Expected exactly one of target_url, job_type")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("timezone", "EST", "Invalid timezone: EST. Use IANA format"),  # TZ4
        ("timezone", "Europe/Madird", "Did you mean Europe/Madrid?"),
        ("timezone", 5, "expected text, got 5"),
        ("name", "", "not blank"),
        ("name", "x" * 201, "at most 200 characters, got 201"),  # DM1
        ("name", "a\nb", "control characters"),
        ("name", "a\0b", "control characters"),
        ("name", ["x"], "expected text, got a list"),
        ("key", "x" * 301, "at most 300 characters"),
        ("description", "x" * 5001, "at most 5000 characters"),
        ("description", "a\0", "control characters"),
        ("tags", "ops", "a list of texts"),
        ("tags", [""], "1 to 100 characters"),
        ("tags", [1], "1 to 100 characters"),
        ("tags", [str(n) for n in range(21)], "at most 20 texts"),
        ("start_at", "soon", "expected one such as"),
        ("start_at", 5, "expected an instant"),
        ("end_at", "2026-01-01T00:00:00Z", None),
        ("max_firings", 0, "whole number from 1"),
        ("max_firings", True, "whole number"),
        ("max_firings", 1.5, "whole number"),
        ("payload", "\0", "NUL"),
        ("payload", {"a": ["\ud800"]}, "expected JSON"),
        ("payload", "x" * (256 * 1024), "256 kB"),  # S6
        ("idempotency_key", "x" * 121, "at most 120"),  # DM2
        ("idempotency_key", "schlüssel", "ASCII"),
        ("misfire_policy", "fire_late ", "one of fire_late, fire_most_recent, skip"),
        ("misfire_policy", None, None),
        ("misfire_cap", 0, "from 1 to 1000"),
        ("misfire_grace", "-5s", "a length of time"),
        ("misfire_grace", -1, "a length of time"),
        ("misfire_window", "2 years", "a length of time"),
        ("overlap_policy", "forbid", "one of skip, queue, cancel_previous, allow"),
        ("overlap_policy", ["skip"], "one of skip"),
        ("delivery", "exactly_once", "one of at_least_once, at_most_once"),
        ("timeout_seconds", 0, "a length of time"),
        ("timeout_seconds", "forever", "a length of time"),
        ("timeout_seconds", float("nan"), "a length of time"),
        ("timeout_seconds", float("inf"), "a length of time"),
        ("max_attempts", 0, "from 1 to 25"),
        ("max_attempts", 26, "from 1 to 25"),
        ("max_attempts", "3", "whole number"),
        ("backoff", "fibonacci", "one of exponential, linear, fixed"),
        ("backoff_delay", "2d", "a length of time"),
        ("backoff_max", "1s", "at least the backoff_delay, 5s"),
        ("priority", 10, "from 0 to 9"),
        ("priority", -1, "from 0 to 9"),
        ("priority", 10**50, "a very large number"),
        ("jitter_seconds", -1, "a length of time"),
        ("fire_window_seconds", 86_401, "a length of time"),
        ("capture", "some", "one of all, failures, none"),
        ("enabled", "yes", "true or false"),
        ("enabled", 1, "true or false"),
        ("queue", "a b", "Invalid queue"),
        ("queue", "http", "kept for calls of URLs"),
        ("job_type", "a b", "Invalid job_type"),
        ("method", "GET", "only beside target_url"),
        ("headers", {"A": "b"}, "only beside target_url"),
        ("body", "x", "only beside target_url"),
    ],
)
def test_a_value_that_cannot_be_taken_is_named(field: str, value: Any, words: str | None) -> None:
    found = problems(**{field: value})
    if words is None:
        assert field not in found or "No upcoming" in found[field]
    else:
        assert list(found) == [field]
        assert words in found[field]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cron_expr", "61 * * * *", "Invalid cron expression: minutes field"),  # TR7
        ("cron_expr", "* * *", "Invalid cron expression"),
        ("cron_expr", "0 0 30 2 *", "never comes"),
        ("cron_expr", "", "not blank"),
        ("cron_expr", 5, "expected text"),
        ("cron_expr", "0 0 1 1 * 2020", "Invalid cron expression"),
        ("cron_expr", "0 0 0 1 1 * 2020", "No upcoming schedule found"),  # TR8
        ("cron_expr", "*/10 * * * * *", "at least 1 minute between firings"),  # TR16
        ("interval", "0s", "Invalid interval"),
        ("interval", "5 parsecs", "Invalid interval"),
        ("interval", "1 month", "no fixed length"),
        ("interval", True, "expected a length of time"),
        ("interval", {}, "expected a length of time"),
        ("interval", "30s", "at least 1 minute between firings, as the tenant may have, got 30 s"),
        ("interval", 59, "got 59 seconds"),
        ("run_at", "2020-01-01T00:00:00Z", "No upcoming schedule found"),
        ("run_at", "tomorrow", "expected one such as"),
        ("rrule", "FREQ=SOMETIMES", "Invalid recurrence rule"),
        ("rrule", "FREQ=SECONDLY", "at least 1 minute"),
        ("text", "whenever", "whenever"),
        ("text", "every 10 seconds", "at least 1 minute"),
    ],
)
def test_a_trigger_that_cannot_be_taken_is_named(field: str, value: Any, words: str) -> None:
    found = problems({"name": "x", "job_type": "t", field: value})
    assert list(found) == [field]
    assert words in found[field]


def test_a_tenant_with_a_smaller_minimum_may_fire_every_second() -> None:
    for trigger in ({"interval": 1}, {"cron_expr": "* * * * * *"}, {"rrule": "FREQ=SECONDLY"}):
        fields.read(
            {"name": "x", "job_type": "t", **trigger}, now=NOW, min_interval=timedelta(seconds=1)
        )


def test_a_cron_expression_is_measured_over_its_next_slots() -> None:
    five = timedelta(minutes=5)
    given_ = {"name": "x", "job_type": "t", "cron_expr": "0,3 9 * * *"}
    with pytest.raises(InvalidSchedule, match=r"at least 5 minutes between firings, .* 3 minutes"):
        fields.read(given_, now=NOW, min_interval=five)
    fields.read({**given_, "cron_expr": "0,5 9 * * *"}, now=NOW, min_interval=five)


def test_everything_wrong_is_reported_at_once() -> None:
    found = problems(
        {"cron_expr": "61 * * * *", "timezone": "EST", "target_url": "ftp://x", "priority": 99}
        | {"maxRetries": 1, "payload": "\0", "backoff": "none", "headers": {"Host": "x"}}
    )
    assert set(found) == {
        *("cron_expr", "timezone", "target_url", "priority", "maxRetries"),
        *("payload", "backoff", "headers.Host", "name"),
    }


def test_the_error_is_one_sentence_for_one_problem_and_a_count_for_more() -> None:
    with pytest.raises(InvalidSchedule, match=r"^Invalid priority: expected a whole number"):
        read(priority=99)
    with pytest.raises(InvalidSchedule, match=r"^2 fields are wrong: Invalid"):
        read(priority=99, max_attempts=99)


def test_null_is_not_given() -> None:
    parsed = read(timezone=None, cron_expr=None, payload=None, tags=None)
    assert parsed == read()


@pytest.mark.parametrize(
    ("value", "seconds"), [("5m", 300), ("PT5M", 300), ("300", None), (300, 300), (0.5, 0.5)]
)
def test_durations_are_text_iso_or_seconds(value: Any, seconds: float | None) -> None:
    if seconds is None:
        assert "misfire_grace" in problems(misfire_grace=value)
    else:
        assert read(misfire_grace=value).definition.misfire_grace == timedelta(seconds=seconds)
        assert read(timeout_seconds=value).definition.timeout_seconds == seconds


def test_an_instant_without_an_offset_is_on_the_zones_wall_clock() -> None:
    parsed = read(
        {"name": "x", "job_type": "t", "run_at": "2027-07-01 09:00", "timezone": "Europe/Madrid"}
    )
    assert parsed.definition.run_at == datetime(2027, 7, 1, 7, tzinfo=UTC)


def test_a_text_may_name_its_own_zone_and_then_that_is_the_schedules() -> None:
    parsed = read({"name": "x", "job_type": "t", "text": "every day at 9am Asia/Tokyo"})
    assert parsed.definition.timezone == "Asia/Tokyo"
    assert parsed.definition.key == "x::cron:0 9 * * *:Asia/Tokyo"
    found = problems(
        {"name": "x", "job_type": "t", "text": "every day at 9am Asia/Tokyo", "timezone": "UTC"}
    )
    assert list(found) == ["timezone"]


def test_a_text_means_what_it_meant_when_it_was_read() -> None:
    parsed = read({"name": "x", "job_type": "t", "text": "tomorrow at 5pm"})
    assert parsed.next_slot == datetime(2027, 1, 2, 17, tzinfo=UTC)
    later = parsed.definition.trigger(NOW)
    assert later.next_after(NOW) == parsed.next_slot


def test_limits_in_a_text_and_beside_it_hold_together() -> None:
    parsed = read(
        {"name": "x", "job_type": "t", "text": "every 5 minutes until 2028-01-01"}
        | {"end_at": "2027-06-01T00:00:00Z", "max_firings": 3}
    )
    trigger = parsed.definition.trigger(NOW)
    assert trigger.next_after(datetime(2027, 6, 1, tzinfo=UTC)) is None
    assert parsed.next_slot == NOW + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("given_", "first"),
    [
        ({}, NOW + timedelta(minutes=5)),
        ({"start_at": "2027-02-01T00:00:00Z"}, datetime(2027, 2, 1, tzinfo=UTC)),
        ({"start_at": "2026-12-31T23:59:00Z"}, NOW + timedelta(minutes=4)),
    ],
)
def test_an_interval_counts_from_its_start_or_from_now(
    given_: dict[str, Any], first: datetime
) -> None:
    assert read(**given_).next_slot == first


def test_an_end_before_the_start_is_refused() -> None:
    found = problems(start_at="2028-01-01T00:00:00Z", end_at="2027-06-01T00:00:00Z")
    assert list(found) == ["end_at"]


def test_a_trigger_with_no_slot_before_its_end_is_refused() -> None:
    found = problems(MORNING, end_at="2027-01-01T00:30:00Z")
    assert "No upcoming schedule found" in found["cron_expr"]


def test_body_and_payload_exclude_each_other() -> None:
    assert "either body or payload" in problems(MORNING, body="x")["body"]
    assert "JSON goes into payload" in problems(MORNING, payload=None, body={})["body"]


def test_a_name_or_a_key_is_enough() -> None:
    by_key = read({"key": "nightly", "interval": "5m", "job_type": "t"}).definition
    assert (by_key.name, by_key.key) == ("nightly", "nightly")
    assert read().definition.key == "resize::every:300000"  # TR14


def test_a_derived_key_is_never_longer_than_a_key_may_be() -> None:
    rule = "FREQ=DAILY;BYMINUTE=" + ",".join(str(n) for n in range(60))
    given_ = {"name": "n" * 200, "job_type": "t", "rrule": rule}
    one, same = read(given_).definition.key, read(given_).definition.key
    other = read({**given_, "timezone": "Europe/Madrid"}).definition.key
    assert len(one) == len(other) == 300
    assert one == same != other


def test_warnings_come_beside_the_definition() -> None:
    (warning,) = read(MORNING, cron_expr="0 9 1 * MON").warnings
    assert "either" in warning


def test_a_long_delay_alone_is_not_at_odds_with_the_usual_maximum() -> None:
    assert read(backoff_delay="2h").definition.backoff_max == timedelta(hours=2)


def test_ten_thousand_are_read_in_seconds() -> None:
    began = time.process_time()
    for n in range(10_000):
        read(MORNING, name=f"n{n}", cron_expr=f"{n % 60} {n // 60 % 24} * * *")
    assert time.process_time() - began < 10


words = st.text(string.ascii_letters + " -.", min_size=1, max_size=30).filter(str.strip)
made_of = st.fixed_dictionaries(
    {"name": words},
    optional={
        "description": st.text(string.printable.replace("\x0b", "").replace("\x0c", "")),
        "tags": st.lists(st.text(string.ascii_letters, min_size=1), max_size=5),
        "max_firings": st.integers(1, 100),
        "payload": st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(string.printable),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(string.ascii_letters), inner),
            max_leaves=5,
        ),
        "misfire_grace": st.integers(0, 3600),
        "backoff_delay": st.integers(0, 3600).map(lambda n: f"{n}s"),
        "timeout_seconds": st.floats(0.5, 3600, width=16),
        "jitter_seconds": st.integers(0, 60),
        "priority": st.integers(0, 9),
        "overlap_policy": st.sampled_from(["skip", "queue", "cancel_previous", "allow"]),
        "enabled": st.booleans(),
        "start_at": st.just("2027-03-01T00:00:00Z"),
        "end_at": st.just("2028-03-01T00:00:00Z"),
    },
)
triggers = st.sampled_from(
    [
        {"cron_expr": "0 9 * * MON-FRI", "timezone": "Europe/Madrid"},
        {"cron_expr": "*/5 * * * *", "timezone": "+05:30"},
        {"interval": "90s"},
        {"interval": 3600},
        {"run_at": "2027-06-01T09:00:00Z"},
        {"rrule": "FREQ=WEEKLY;BYDAY=MO"},
        {"text": "every weekday at 9am Asia/Tokyo"},
        {"text": "every 10 minutes"},
    ]
)
targets = st.sampled_from(
    [
        {"job_type": "t"},
        {"job_type": "t", "queue": "slow"},
        {"target_url": "https://a.example/x", "headers": {"X-A": "b"}},
        {"target_url": "https://a.example/x", "method": "get"},
    ]
)


@given(made_of, triggers, targets)
def test_what_is_written_reads_as_the_same_definition(
    given_: dict[str, Any], trigger: dict[str, Any], target: dict[str, Any]
) -> None:
    parsed = read({**given_, **trigger, **target})
    written = fields.write(parsed.definition)
    assert fields.same(read(written).definition, parsed.definition)
    assert fields.restated(read(written).definition, parsed.definition) == parsed.definition
    assert definition.decode(definition.encode(parsed.definition)) == parsed.definition
    merged = fields.merge(parsed.definition, {})
    assert read(merged).definition == parsed.definition
    assert written == merged | {name: written[name] for name in written if name == "queue"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(names.FIELDS)) | st.text(), anything))
def test_whatever_is_given_is_read_or_refused_field_by_field(given_: dict[str, Any]) -> None:
    found = _read_or_refuse(given_)
    if isinstance(found, InvalidSchedule):
        assert found.problems
        assert all(problem.message for problem in found.problems)
    else:
        assert found.next_slot


def _read_or_refuse(given_: dict[str, Any]) -> fields.Parsed | InvalidSchedule:
    try:
        return fields.read(given_, now=NOW, min_interval=MINUTE)
    except InvalidSchedule as error:
        return error


def test_a_stored_definition_of_another_version_still_reads() -> None:
    """TR18: a newer version's names are passed over; what an older one left out has its default."""
    stored = '{"name":"","key":"a","interval":"5m","job_type":"t","colour":"red"}'
    read_back = definition.decode(stored)
    assert (read_back.name, read_back.timeout_seconds, read_back.priority) == ("", 3600, 5)
