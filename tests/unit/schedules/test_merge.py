"""Changing some fields of a definition (PATCH)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.schedules.examples import MORNING, TASK, read

from rota.schedules import fields

if TYPE_CHECKING:
    from rota.schedules.definition import Definition


def changed(given: dict[str, Any], **changes: Any) -> Definition:
    return read(fields.merge(read(given).definition, changes)).definition


def test_one_field_changes_and_the_others_stay() -> None:
    before, after = read(MORNING).definition, changed(MORNING, priority=9)
    assert after.priority == 9
    assert fields.write(after) == fields.write(before) | {"priority": 9}


def test_null_takes_a_field_back_to_its_default() -> None:
    assert changed({**TASK, "priority": 9, "tags": ["a"]}, priority=None, tags=None).priority == 5
    assert changed(MORNING, payload=None).payload is None


def test_a_trigger_takes_the_place_of_the_one_there_is() -> None:
    after = changed(MORNING, interval="1h")
    assert (after.cron_expr, after.interval, after.timezone) == (None, "1h", "America/New_York")


def test_the_key_stays_when_the_trigger_it_was_derived_from_changes() -> None:
    assert changed(MORNING, interval="1h").key == read(MORNING).definition.key


def test_a_target_takes_the_place_of_the_one_there_is_with_all_that_was_its_own() -> None:
    webhook = {**MORNING, "headers": {"X-A": "b"}, "method": "PUT", "timeout_seconds": 5}
    after = changed(webhook, job_type="reports.send")
    assert (after.target_url, after.headers, after.timeout_seconds) == (None, {}, 3600)
    back = changed({**TASK, "queue": "slow"}, target_url="https://a.example")
    assert (back.job_type, back.queue, back.timeout_seconds) == (None, None, 30)


def test_the_same_target_with_another_url_keeps_its_headers() -> None:
    after = changed({**MORNING, "headers": {"X-A": "b"}}, target_url="https://b.example")
    assert after.headers == {"X-A": "b"}


def test_payload_and_body_take_each_others_place() -> None:
    assert changed(MORNING, body="x").payload is None
    assert changed({**MORNING, "payload": None, "body": "x"}, payload=[1]).body is None


@pytest.mark.parametrize(
    ("text", "zone"), [("every day at 8am", "UTC"), ("every day at 8am Europe/Madrid", None)]
)
def test_a_new_text_brings_its_own_zone(text: str, zone: str | None) -> None:
    tokyo = {"name": "x", "job_type": "t", "text": "every day at 9am Asia/Tokyo"}
    assert changed(tokyo, text=text).timezone == (zone or "Europe/Madrid")


def test_a_new_text_keeps_a_zone_that_was_given_beside_the_old_one() -> None:
    tokyo = {"name": "x", "job_type": "t", "text": "every day at 9am", "timezone": "Asia/Tokyo"}
    assert changed(tokyo, text="every day at 8am").timezone == "Asia/Tokyo"


def test_nothing_changed_but_how_it_begins_is_the_same() -> None:
    one, other = read(MORNING).definition, read(MORNING, enabled=False).definition
    assert fields.same(one, other)
    assert not fields.same(one, read(MORNING, priority=1).definition)
