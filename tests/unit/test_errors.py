"""The tree in the module's docstring is the tree in the code."""

from __future__ import annotations

import inspect
import re

import pytest

from rota import errors


def _drawn() -> list[tuple[int, str]]:
    """(depth, name) of each line of the drawing."""
    lines = (errors.__doc__ or "").splitlines()
    drawn = (re.match(r"([│├└─ ]*)([A-Z]\w+)", line) for line in lines[2:])
    return [(len(match[1]) // 4, match[2]) for match in drawn if match]


def _written(kind: type[errors.RotaError], depth: int = 0) -> list[tuple[int, str]]:
    rest = (line for child in kind.__subclasses__() for line in _written(child, depth + 1))
    mine = kind.__module__ == errors.__name__
    return [(depth, kind.__name__), *rest] if mine else []


def test_the_drawing_shows_every_error_in_its_place() -> None:
    assert _drawn() == _written(errors.RotaError)


def test_every_error_says_what_it_is() -> None:
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        assert kind.__doc__, name


def test_wrong_input_names_the_field_and_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="expected 5 fields, got 4") as raised:
        raise errors.InvalidCron("expected 5 fields, got 4", field="cron_expr")
    assert isinstance(raised.value, errors.InvalidCron)
    assert isinstance(raised.value, errors.CallerError)
    assert raised.value.field == "cron_expr"


def test_ambiguous_text_carries_the_choices() -> None:
    error = errors.InvalidText("which Sunday?", field="text", choices=("this", "next"))
    assert error.choices == ("this", "next")


def test_the_configurations_problems_are_kept_apart_and_shown_together() -> None:
    error = errors.InvalidConfig(("port: …", "host: …"))
    assert error.problems == ("port: …", "host: …")
    assert str(error) == "port: …\nhost: …"
