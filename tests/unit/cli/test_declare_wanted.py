"""Everything wrong with files is found before the first request, with its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.cli.declared import HTTP, TASK, document, problems, want

from rota.cli.declare.documents import Entry
from rota.cli.declare.problems import Place
from rota.cli.declare.wanted import merged


def test_a_key_is_derived_as_the_server_does() -> None:
    (wanted,) = want(document({"name": "sweep", **TASK}))
    assert wanted.key == "sweep::cron:0 9 * * *:UTC"
    assert wanted.given["tags"] == ["applied:ops"]


def test_unknown_fields_are_named_with_the_one_that_was_meant() -> None:
    (problem,) = problems(document({"key": "a", **TASK, "timezome": "UTC"}))
    assert problem == 'f.yaml: schedules[0]: Unknown field "timezome": did you mean timezone?'


def test_all_problems_of_all_entries_come_at_once() -> None:
    found = problems(
        document({"key": "a", **TASK, "priority": 11}, {"cron_expr": "x", "job_type": "y"})
    )
    assert len(found) == 3
    assert "schedules[0]: Invalid priority" in found[0]
    assert "schedules[1]: cron_expr: Invalid cron expression" in found[1]
    assert "schedules[1]: Invalid name: expected a name, or a key" in found[2]


def test_a_key_stands_once_over_all_files_also_when_its_entry_is_wrong() -> None:
    right, wrong = document({"key": "a", **TASK}), Place(file="g.yaml", part="schedules[0]")
    twin = replace(right, entries=(Entry(place=wrong, fields={"key": "a"}),))
    assert problems(right, twin)[-1] == (
        'g.yaml: schedules[0]: expected each key once, got "a" as in f.yaml: schedules[0] already'
    )


def test_a_wrong_default_is_reported_once_where_it_stands() -> None:
    entries = ({"key": key, **TASK} for key in "abc")
    assert problems(document(*entries, priority=99, nmae="x", key="k")) == [
        'f.yaml: defaults: Unknown field "nmae": did you mean name?',
        "f.yaml: defaults: expected key in each entry instead",
        "f.yaml: defaults: Invalid priority: expected a whole number from 0 to 9, got 99",
    ]


def test_a_text_that_moves_on_needs_a_key() -> None:
    moving = {"name": "x", "text": "tomorrow at 5pm", "job_type": "y"}
    (problem,) = problems(document(moving))
    assert 'expected a key, since "tomorrow at 5pm" is another time' in problem
    assert problems(document({**moving, "key": "k"})) == []
    assert problems(document({**moving, "text": "every day at 5pm"})) == []


def test_the_tag_of_an_owner_cannot_be_given_by_hand() -> None:
    (problem,) = problems(document({"key": "a", **TASK, "tags": ["applied:them"]}))
    assert "expected none that begins with applied:" in problem


def test_the_owner_needs_one_of_the_tags() -> None:
    full = {"key": "a", **TASK, "tags": [f"t{n}" for n in range(20)]}
    (problem,) = problems(document(full))
    assert "expected at most 19" in problem
    assert problems(document(full, owner=None)) == []


@pytest.mark.parametrize(
    ("defaults", "entry", "expected"),
    [
        ({"priority": 1}, {"priority": 2}, {"priority": 2}),
        ({"priority": 1}, {"priority": None}, {"priority": None}),
        ({"interval": "5m"}, {"cron_expr": "@daily"}, {"cron_expr": "@daily"}),
        ({"payload": 1}, {"body": "x"}, {"body": "x"}),
        ({"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["b"]}),
        (HTTP, {"job_type": "x"}, {"interval": "5m", "job_type": "x"}),
        ({"headers": {}, "queue": "q"}, {"job_type": "x"}, {"queue": "q", "job_type": "x"}),
        (
            {"method": "PUT", "queue": "q"},
            {"target_url": "u"},
            {"method": "PUT", "target_url": "u"},
        ),
    ],
)
def test_an_entry_takes_from_the_defaults_what_it_leaves_open(
    defaults: dict[str, Any], entry: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert merged(defaults, entry) == expected
