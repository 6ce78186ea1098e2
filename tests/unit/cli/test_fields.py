"""What fires without a WHEN, as options of `rota add`."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from rota.cli import fields


@pytest.mark.parametrize(
    ("after", "on", "on_demand", "expected"),
    [
        (None, None, False, {}),
        (None, None, True, {"on_demand": True}),
        ("load", None, False, {"after": {"key": "load"}}),
        ("load", "failed", False, {"after": {"key": "load", "on": "failed"}}),
    ],
)
def test_the_options_become_a_trigger(
    after: str | None, on: str | None, on_demand: bool, expected: dict[str, Any]
) -> None:
    assert fields.event(after, on, on_demand=on_demand) == expected


@pytest.mark.parametrize(
    ("after", "on", "on_demand", "says"),
    [(None, "failed", False, "with --after only"), ("load", None, True, "got both")],
)
def test_options_that_do_not_fit_are_refused(
    after: str | None, on: str | None, on_demand: bool, says: str
) -> None:
    with pytest.raises(typer.BadParameter, match=says):
        fields.event(after, on, on_demand=on_demand)


def test_steps_are_json() -> None:
    assert fields.steps(None) == {}
    assert fields.steps('[{"job_type": "x"}]') == {"steps": [{"job_type": "x"}]}
    with pytest.raises(typer.BadParameter, match="expected JSON"):
        fields.steps("[")
