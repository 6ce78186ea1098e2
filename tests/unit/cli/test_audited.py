"""What `rota audit` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rota.cli import shown

if TYPE_CHECKING:
    import pytest

FIRST, LAST = "2027-01-01T09:00:00Z", "2027-01-01T11:00:00Z"


def record(key: str, **fields: Any) -> dict[str, Any]:
    return {
        "schedule_id": f"sch_{key}",
        "schedule_key": key,
        "until": LAST,
        "expected": 4,
        "unexplained": 0,
        "runs": [],
        "has_no_timer": False,
        **fields,
    }


def test_when_all_is_explained_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    shown.audited([record("a"), record("b")], as_json=False)
    out = capsys.readouterr().out
    assert out == "unexplained = 0 of 8 expected slots up to 2027-01-01 11:00:00 UTC\n"


def test_without_any_schedule_there_is_nothing_to_explain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown.audited([], as_json=False)
    assert capsys.readouterr().out == "unexplained = 0 of 0 expected slots\n"


def test_what_is_unexplained_and_what_has_no_timer_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [
        {"first_slot": FIRST, "last_slot": LAST, "count": 3},
        {"first_slot": LAST, "last_slot": LAST, "count": 1},
    ]
    records = [record("a", unexplained=4, runs=runs), record("b", has_no_timer=True)]
    shown.audited(records, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "unexplained = 4 of 8 expected slots up to 2027-01-01 11:00:00 UTC"
    assert lines[1].startswith("a: 3 from ")
    assert lines[2].startswith("a: 2027-01-01")
    assert lines[3] == "b: active, and nothing is armed; Rota arms it again"


def test_programs_get_the_sums_and_every_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    # Two parts of one schedule, as of one with very many slots.
    shown.audited([record("a", unexplained=1), record("a")], as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["schedules"], found["expected"], found["unexplained"]) == (1, 8, 1)
    assert len(found["items"]) == 2
