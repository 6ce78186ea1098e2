"""A schedule goes into its form and out of it again as it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import drafts
from rota.dashboard.drafts_filled import of_definition
from rota.dashboard.policies import GROUPS, POLICIES
from rota.schedules import fields, names

if TYPE_CHECKING:
    from rota.schedules.definition import Definition

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)

URL = {"name": "a", "target_url": "https://x.example/hook"}
TASK = {"name": "a", "job_type": "send", "queue": "mail"}

SCHEDULES: list[dict[str, Any]] = [
    {**URL, "cron_expr": "0 9 * * *", "timezone": "America/New_York"},
    {**URL, "text": "every day at 9am Europe/Paris"},
    {**URL, "text": "0 9 * * *"},
    {**URL, "interval": 300, "method": "GET"},
    {**URL, "interval": 0.1 * 25},
    {**URL, "interval": "PT5M"},
    {**URL, "run_at": "2027-01-01T09:00:00Z"},
    {**URL, "rrule": "DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY"},
    {**URL, "on_demand": True, "headers": {"X-A": "1: 2", "X-B": ""}, "body": "a\r\nb\n"},
    {**URL, "after": {"key": "other", "on": "failed"}, "payload": {"b": [1, 2.5, None, "é"]}},
    {"name": "m", "monitor": {"expect": "every day at 3am Europe/Paris", "grace": "1h"}},
    {"name": "m", "monitor": {"expect": 90}},
    {**TASK, "text": "every 5 minutes", "timeout_seconds": 90, "payload": False},
    {"name": "s", "stream": "redis://host/name", "interval": "1h"},
    {"name": "c", "celery_task": "app.send", "queue": "mail", "interval": "1h"},
    {"name": "x", "interval": "1h", "steps": [{"name": "a", "target_url": "https://x.example/"}]},
    {**URL, "interval": "1h", "backoff_delay": "2h", "misfire_grace": "90s", "tags": ["a", "b"]},
    {**URL, "interval": "1h", "success_on": ["2xx", 404, 429], "capture": "none", "priority": 0},
    {**URL, "interval": "1h", "start_at": "2027-01-01T00:00:00Z", "max_firings": 3, "key": "k"},
    {**URL, "interval": "1h", "overlap_policy": "queue", "delivery": "at_most_once"},
    {**URL, "interval": "1h", "jitter_seconds": 12.5, "fire_window_seconds": 60},
    {**URL, "interval": "1h", "idempotency_key": "abc", "description": "a\nb", "backoff": "fixed"},
]


def defined(given: dict[str, Any]) -> Definition:
    return fields.read(given, now=NOW).definition


@pytest.mark.parametrize("given", SCHEDULES, ids=lambda given: json.dumps(given)[:60])
def test_a_form_that_nobody_touched_changes_nothing(given: dict[str, Any]) -> None:
    before = of_definition(defined(given))
    sent = drafts.given(lambda name: before[name].replace("\n", "\r\n"))
    assert sent == before
    assert drafts.changes(before, sent) == ({}, [])
    assert before["other"] == ""


@pytest.mark.parametrize("given", SCHEDULES, ids=lambda given: json.dumps(given)[:60])
def test_what_the_form_says_is_the_schedule(given: dict[str, Any]) -> None:
    """Also of a copy, for which all of it is sent; lines end alike then, as browsers have it."""
    definition = defined(given)
    read, problems = drafts.read(of_definition(definition))
    assert problems == []
    again = defined(read)
    assert again.sends == definition.sends or "\r" in (definition.body or "")
    assert again.trigger(NOW).signature == definition.trigger(NOW).signature
    for name in POLICIES:
        assert getattr(again, name) == getattr(definition, name), name


def test_every_field_of_the_api_has_a_place_in_the_form() -> None:
    inputs = set(drafts.blank())
    groups = {*names.TRIGGERS, "queue", "enabled"}
    assert names.FIELDS - inputs - groups == set()


def test_a_field_that_the_form_does_not_know_is_kept_as_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when a newer version has made it."""
    written = {**fields.write(defined({**URL, "interval": "1h"})), "colour": {"of": "sky"}}

    def write(_: Definition) -> dict[str, Any]:
        return dict(written)

    monkeypatch.setattr(fields, "write", write)
    form = of_definition(defined({**URL, "interval": "1h"}))
    assert json.loads(form["other"]) == {"colour": {"of": "sky"}}
    read, problems = drafts.read(form)
    assert (read["colour"], problems) == ({"of": "sky"}, [])


def test_what_is_changed_is_sent_and_what_is_emptied_goes_back_to_the_usual() -> None:
    before = of_definition(defined({**URL, "interval": 300, "priority": 7, "tags": ["a"]}))
    now = before | {"priority": "", "max_attempts": "5", "tags": "a, b", "calls": "task"}
    now |= {"job_type": "send"}
    changes, problems = drafts.changes(before, now)
    assert problems == []
    assert changes == {
        "priority": None,
        "max_attempts": 5,
        "tags": ["a", "b"],
        "target_url": None,
        "job_type": "send",
    }


@pytest.mark.parametrize(
    ("form", "at"),
    [
        ({"when": " "}, "when"),
        ({"target_url": ""}, "target_url"),
        ({"calls": "task"}, "job_type"),
        ({"calls": "steps", "steps": "[{"}, "steps"),
        ({"firing": "after"}, "after_key"),
        ({"firing": "pings"}, "expect"),
        ({"payload": "{'a': 1}"}, "payload"),
        ({"headers": "Authorization Bearer x"}, "headers"),
        ({"headers": "A: 1\nA: 2"}, "headers"),
        ({"other": "[]"}, "other"),
        ({"other": '{"timezone": "UTC"}', "timezone": "UTC"}, "other"),
    ],
)
def test_what_cannot_be_read_is_said_where_it_stands(form: dict[str, str], at: str) -> None:
    good = drafts.blank() | {"name": "a", "when": "every hour", "target_url": "https://x.example/"}
    _, problems = drafts.read(good | form)
    assert [each.field for each in problems] == [at]


def test_a_header_that_is_none_is_not_repeated() -> None:
    """S9: it may be a password."""
    _, problems = drafts.read(drafts.blank() | {"headers": "hunter2"})
    assert all("hunter2" not in each.message for each in problems)


@pytest.mark.parametrize(
    ("field", "form", "at"),
    [
        ("cron_expr", {}, "when"),
        ("monitor", {"firing": "pings"}, "expect"),
        ("after", {"firing": "after"}, "after_key"),
        ("target_url", {"calls": "task"}, "job_type"),
        ("headers.X-A", {}, "headers"),
        ("steps[0].target_url", {"calls": "steps"}, "steps"),
        ("queue", {"calls": "celery"}, "celery_queue"),
        ("queue", {"calls": "task"}, "task_queue"),
        ("misfire_cap", {}, "misfire_cap"),
        ("colour", {}, "other"),
    ],
)
def test_a_problem_of_the_api_finds_its_input(field: str, form: dict[str, str], at: str) -> None:
    assert drafts.input_of(field, drafts.blank() | form) == at


@given(
    st.fixed_dictionaries(
        {},
        optional=cast(
            "Any",
            {
                "max_attempts": st.integers(1, 25),
                "priority": st.integers(0, 9),
                "misfire_grace": st.integers(0, 2_592_000),
                "jitter_seconds": st.integers(0, 86_400_000).map(lambda ms: ms / 1000),
                "timeout_seconds": st.integers(100, 3_600_000).map(lambda ms: ms / 1000),
                "description": st.text(st.characters(min_codepoint=32, exclude_categories=["C"])),
                "payload": st.recursive(
                    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("aé\n"),
                    lambda each: (
                        st.lists(each, max_size=3)
                        | st.dictionaries(st.text("ab"), each, max_size=3)
                    ),
                ),
            },
        ),
    )
)
def test_any_rules_survive_the_form(rules: dict[str, Any]) -> None:
    definition = defined({**URL, "interval": "1h", **rules})
    before = of_definition(definition)
    assert drafts.changes(before, drafts.tidy(before)) == ({}, [])
    assert fields.same(defined(drafts.read(before)[0]), definition)


def test_every_rule_is_explained_and_its_default_is_the_one_that_holds() -> None:
    usual = fields.write(defined({**URL, "interval": "1h"}))
    assert len(POLICIES) == sum(len(group.policies) for group in GROUPS)
    for policy in POLICIES.values():
        assert policy.sentence.endswith("."), policy.name
        if policy.kind == "choice":
            assert usual[policy.name] == policy.usual
            assert {each.value for each in policy.choices} >= {policy.usual}
        elif policy.kind == "number" and policy.usual.isdecimal():
            assert usual[policy.name] == int(policy.usual)
        elif policy.name in ("misfire_grace", "misfire_window", "backoff_delay", "retry_window"):
            assert usual[policy.name] == policy.usual
