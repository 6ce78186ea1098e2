"""Two readings of a repeated hour are equal as datetimes and an hour apart as instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

import rota
from rota.triggers.cron import Cron
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

_NEW_YORK = ZoneInfo("America/New_York")
_FIRST = datetime(2026, 11, 1, 1, 30, tzinfo=_NEW_YORK)
_SECOND = _FIRST.replace(fold=1)
_TRIGGERS = {
    "cron": "*/10 * * * *",
    "interval": "every 10m",
    "rrule": "FREQ=MINUTELY;INTERVAL=10",
    "limits": "*/10 * * * *",
}


def _trigger(kind: str) -> Trigger:
    trigger = rota.parse(_TRIGGERS[kind])
    if kind != "limits":
        return trigger
    return Limited(trigger, start_at=_FIRST - timedelta(days=1), end_at=_FIRST + timedelta(days=1))


@pytest.mark.parametrize("kind", _TRIGGERS)
@pytest.mark.parametrize("order", [(_FIRST, _SECOND), (_SECOND, _FIRST)], ids=["1, 2", "2, 1"])
def test_what_was_asked_before_changes_no_answer(
    kind: str, order: tuple[datetime, datetime]
) -> None:
    trigger = _trigger(kind)
    for instant in order:
        assert trigger.next_after(instant) == trigger.next_after(instant.astimezone(UTC))
        assert trigger.previous_before(instant) == trigger.previous_before(instant.astimezone(UTC))


def test_the_second_pass_has_its_own_next_slot() -> None:
    trigger = Cron.parse("*/10 * * * *", "America/New_York")
    assert trigger.next_after(_FIRST) == datetime(2026, 11, 1, 5, 40, tzinfo=UTC)
    assert trigger.next_after(_SECOND) == datetime(2026, 11, 1, 6, 40, tzinfo=UTC)


def test_a_limit_in_the_second_pass_is_an_hour_after_one_in_the_first() -> None:
    until = Limited(rota.parse("*/10 * * * *"), end_at=_FIRST)
    assert until.next_after(_SECOND) is None
    assert until.next_after(_FIRST - timedelta(minutes=10)) == _FIRST.astimezone(UTC)
