"""Which answers are success, and which are tried again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.schedules.examples import MORNING, TASK, problems, read

from rota.schedules import fields


def lists(**given: Any) -> tuple[Any, Any]:
    definition = read(MORNING, **given).definition
    return definition.success_on, definition.retry_on


def test_the_usual_lists() -> None:
    assert lists() == (("2xx",), ("5xx", 408, 425, 429))


@pytest.mark.parametrize(
    ("given", "success", "retry"),
    [
        ({"success_on": [200, "3XX", "404"]}, (200, "3xx", 404), ("5xx", 408, 425, 429)),
        ({"success_on": ["2xx", 429]}, ("2xx", 429), ("5xx", 408, 425)),
        ({"success_on": ["2xx", 503]}, ("2xx", 503), ("5xx", 408, 425, 429)),
        ({"retry_on": []}, ("2xx",), ()),
        ({"retry_on": ["5xx", "5xx", 404]}, ("2xx",), ("5xx", 404)),
        ({"success_on": [204], "retry_on": ["2xx"]}, (204,), ("2xx",)),
    ],
)
def test_lists_are_read_and_the_usual_ones_give_way(
    given: dict[str, Any], success: Any, retry: Any
) -> None:
    assert lists(**given) == (success, retry)


@pytest.mark.parametrize("name", ["success_on", "retry_on"])
@pytest.mark.parametrize(
    "value", [199, [199], [600], ["1xx"], ["6xx"], ["2x"], [True], [None], "2xx", {"a": 1}, [2.5]]
)
def test_what_is_no_list_of_codes_is_refused(name: str, value: Any) -> None:
    found = problems(MORNING, **{name: value})
    assert found.keys() == {name}
    assert '"2xx" to "5xx"' in found[name]


def test_nothing_that_succeeds_would_never_succeed() -> None:
    assert "at least one" in problems(MORNING, success_on=[])["success_on"]


def test_a_code_in_both_lists_is_refused() -> None:
    found = problems(MORNING, success_on=["2xx", 404], retry_on=[404, "5xx"])
    assert found == {
        "retry_on": "Invalid retry_on: expected none that success_on has as well, got 404"
    }


def test_a_change_of_one_list_need_not_repeat_the_usual_other() -> None:
    definition = read(MORNING).definition
    changed = read(fields.merge(definition, {"success_on": ["2xx", 429]})).definition
    assert changed.retry_on == ("5xx", 408, 425)


def test_they_are_for_urls_alone() -> None:
    assert problems(TASK, success_on=[200]).keys() == {"success_on"}
    assert problems(TASK, async_timeout_seconds=5).keys() == {"async_timeout_seconds"}


def test_limits_on_time_are_read() -> None:
    definition = read(MORNING, retry_window="2h", async_timeout_seconds="3d").definition
    assert (definition.retry_window.total_seconds(), definition.async_timeout_seconds) == (
        7_200,
        259_200,
    )
    for wrong in ({"retry_window": "31d"}, {"async_timeout_seconds": "8d"}):
        assert problems(MORNING, **wrong).keys() == wrong.keys()
