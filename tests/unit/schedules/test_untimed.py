"""Triggers without a timer: `on_demand` and `after`, as fields and as triggers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules import definition, fields
from rota.schedules.errors import InvalidSchedule
from rota.triggers.count import slots_within
from rota.triggers.english import explain
from rota.triggers.limits import Limited
from rota.triggers.never import Never, is_timed
from rota.triggers.preview import preview

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
BASE: dict[str, Any] = {"name": "nightly", "job_type": "reports.build"}
NEVER = Never("on_demand", "when somebody asks for a run")


def read(**more: Any) -> fields.Parsed:
    return fields.read({**BASE, **more}, now=NOW)


def refused(**more: Any) -> dict[str, str]:
    with pytest.raises(InvalidSchedule) as caught:
        read(**more)
    return {problem.field: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({"on_demand": True}, "nightly::on_demand", "when somebody asks for a run"),
        ({"after": "load"}, "nightly::after:load:succeeded", "when a firing of load has succeeded"),
        (
            {"after": {"key": "load", "on": "failed"}},
            "nightly::after:load:failed",
            "when a firing of load has failed for good",
        ),
        (
            # As YAML reads {key: load, on: failed}.
            {"after": {"key": "load", True: "failed"}},
            "nightly::after:load:failed",
            "when a firing of load has failed for good",
        ),
        (
            {"after": {"key": "load", "on": "finished"}, "timezone": "Europe/Madrid"},
            "nightly::after:load:finished",
            "when a firing of load has ended",
        ),
    ],
)
def test_it_has_a_stable_key_and_words_and_no_slot(
    given: dict[str, Any], key: str, words: str
) -> None:
    """TR14."""
    parsed = read(**given)
    assert (parsed.definition.key, parsed.next_slot) == (key, None)
    assert explain(parsed.trigger) == words
    assert not is_timed(parsed.trigger)
    again = fields.read(fields.write(parsed.definition), now=NOW)
    assert fields.same(again.definition, parsed.definition)
    assert definition.decode(definition.encode(parsed.definition)) == parsed.definition


@pytest.mark.parametrize(
    ("given", "field", "says"),
    [
        ({"on_demand": False}, "on_demand", "expected true"),
        ({"on_demand": "yes"}, "on_demand", "expected true"),
        ({"on_demand": True, "interval": "5m"}, "on_demand", "exactly one"),
        ({"after": 5}, "after", "expected a key, or an object"),
        ({"after": ""}, "after", "expected the key of a schedule"),
        ({"after": {"on": "failed"}}, "after", "expected the key of a schedule"),
        ({"after": {"key": "x", "on": "dead"}}, "after", "succeeded, failed, finished"),
        ({"after": {"key": "x", "when": "failed"}}, "after", "expected only key and on"),
        ({"on_demand": True, "max_firings": 3}, "max_firings", "no slots to limit"),
        ({"after": "x", "end_at": "2028-01-01T00:00Z"}, "end_at", "no slots to limit"),
        ({"after": "x", "start_at": "2027-01-01T00:00Z"}, "start_at", "no slots to limit"),
    ],
)
def test_what_is_not_right_is_refused_with_a_reason(
    given: dict[str, Any], field: str, says: str
) -> None:
    assert says in refused(**given)[field]


def test_an_edit_may_take_the_place_of_a_timed_trigger_and_the_reverse() -> None:
    timed = read(interval="1h").definition
    untimed = read(on_demand=True).definition
    assert "interval" not in fields.merge(timed, {"on_demand": True})
    assert "on_demand" not in fields.merge(untimed, {"interval": "1h"})


@given(st.datetimes(timezones=st.just(UTC)))
def test_never_has_no_slot_wherever_it_is_asked(instant: datetime) -> None:
    for trigger in (NEVER, Limited(NEVER)):
        assert trigger.next_after(instant) is None
        assert trigger.previous_before(instant) is None
        assert not is_timed(trigger)
    assert slots_within(NEVER, instant, NOW) == 0
    assert preview(NEVER, after=NOW, count=5) == []
