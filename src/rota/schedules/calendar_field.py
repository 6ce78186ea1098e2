"""The field `calendar` of a schedule. Pure."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from rota.schedules import names
from rota.targets.errors import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.schedules.calendars.calendar import Calendars, Known
    from rota.schedules.values import Values

MAX_NAME = 100


def read(values: Values, draft: dict[str, Any], calendars: Calendars | None) -> Known | None:
    """The calendar that the fields name; None for none, for a problem, and when none are known."""
    name = values.text("calendar", most=MAX_NAME, default=None)
    draft["calendar"] = name
    if name is None:
        return None
    # A monitor's calendar is for the pings that it expects.
    without = [each for each in names.UNTIMED if values.given(each) and each != "monitor"]
    if without:
        values.problem("calendar", f"expected none beside {without[0]}, which has no slots")
    if calendars is None:
        return None
    found = calendars.known.get(name)
    if found is None:
        values.problem("calendar", _unknown(name, calendars.others))
    return found


def wanted(many: Iterable[Mapping[str, object]]) -> set[str]:
    """The names of calendars in the fields of schedules; none that the database would choke on."""
    found = (fields.get("calendar") for fields in many)
    return {name.strip() for name in found if isinstance(name, str) and _can_be(name)}


def _can_be(name: str) -> bool:
    return len(name) <= MAX_NAME and "\0" not in name


def _unknown(name: str, others: tuple[str, ...]) -> str:
    if not others:
        return f"expected a calendar of yours, got {show(name)}, and you have none: make it first"
    near = difflib.get_close_matches(name, others, n=3, cutoff=0.6) or others[:5]
    return f"expected a calendar of yours, such as {', '.join(near)}, got {show(name)}"
