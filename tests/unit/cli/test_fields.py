"""What fires without a WHEN, as options of `rota add`."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from rota.cli import fields
from rota.errors import InvalidInstant


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


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-11-10 00:00", "UTC", "2026-11-10T00:00:00Z"),
        (" 2026-11-10T00:00 ", "Europe/Madrid", "2026-11-09T23:00:00Z"),
        ("2026-11-10", "America/New_York", "2026-11-10T05:00:00Z"),
        ("2026-11-10T00:00:00Z", "America/New_York", "2026-11-10T00:00:00Z"),
        ("2026-11-10 00:00:00.5+01:00", "UTC", "2026-11-09T23:00:00.500000Z"),
    ],
)
def test_an_instant_is_read_in_every_form_and_on_the_wall_clock_of_the_zone(
    text: str, zone: str, expected: str
) -> None:
    assert fields.instant(text, zone) == expected
    assert fields.instant(text, zone, from_now=True) == expected


def test_a_length_of_time_is_an_instant_only_where_it_may_be_counted_from_now() -> None:
    assert fields.instant("2h", from_now=True).endswith("Z")
    with pytest.raises(InvalidInstant, match="2027-01-01 09:00"):
        fields.instant("2h")
