"""Values at the ends of what can be said: refused or answered, never a fault."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from rota.api import cursors

if TYPE_CHECKING:
    from tests.api.conftest import Api

_LAST = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
_FIRST = "0" * 26
TIMES = ["0001-01-01", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "1969-12-31", ""]


@pytest.mark.parametrize("ulid", [_FIRST, _LAST])
async def test_the_first_and_last_ids_are_only_not_found(api: Api, ulid: str) -> None:
    for path in (
        f"/v1/schedules/sch_{ulid}",
        f"/v1/schedules/sch_{ulid}/firings",
        f"/v1/firings/fir_{ulid}",
        f"/v1/firings/fir_{ulid}/attempts",
    ):
        assert (await api.get(path)).status_code == 404, path


@pytest.mark.parametrize("time", TIMES)
async def test_the_ends_of_the_calendar_are_answered_or_refused(api: Api, time: str) -> None:
    for trigger in ({"cron_expr": "0 9 * * *"}, {"cron_expr": None, "interval": "90s"}):
        made = await api.created(**trigger)
        for path, name in (("why", "at"), ("next", "after")):
            answer = await api.get(f"/v1/schedules/{made['id']}/{path}", **{name: time})
            assert answer.status_code in {200, 422}, answer.text
        await api.delete(f"/v1/schedules/{made['id']}")
    answer = await api.post("/v1/preview", {"cron_expr": "0 9 * * *", "after": time})
    assert answer.status_code in {200, 422}, answer.text


@pytest.mark.parametrize(
    "place",
    [
        {"scheduled_for": "2026-01-01T00:00:00", "id": "0192f0c1-0000-7000-8000-00000000abcd"},
        {"scheduled_for": "0001-01-01T00:00:00Z", "id": "0192f0c1-0000-7000-8000-00000000abcd"},
        {
            "scheduled_for": "9999-12-31T23:59:59-12:00",
            "id": "00000000-0000-0000-0000-000000000000",
        },
        {"scheduled_for": 1},
        [],
    ],
)
async def test_a_forged_cursor_is_refused_or_finds_nothing(api: Api, place: Any) -> None:
    made = await api.created()
    cursor = cursors.encode(place)
    assert base64.urlsafe_b64decode(cursor + "==")
    answer = await api.get(f"/v1/schedules/{made['id']}/firings", cursor=cursor)
    assert answer.status_code in {200, 422}, answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"run_at": "9999-12-31T23:59:59Z", "cron_expr": None},
        {"start_at": "0001-01-01T00:00:00Z"},
        {"end_at": "9999-12-31T23:59:59.999999Z"},
        {"interval": 1e308, "cron_expr": None},
        {"interval": "999999999999w", "cron_expr": None},
        {"interval": 10**30, "cron_expr": None},
        {"max_firings": 10**40},
        {"timeout_seconds": -1},
        {"misfire_grace": 1e300},
        {"cron_expr": "*" * 5000},
        {"cron_expr": "0 0 29 2 * 2099"},
        {"text": "every " * 1000, "cron_expr": None},
        {"rrule": "FREQ=YEARLY;COUNT=1;BYMONTH=2;BYMONTHDAY=31", "cron_expr": None},
        {"tags": ["x"] * 1000},
        {"headers": {"a": "b" * 1_000_00}},
        {"headers": {"": ""}},
        {"target_url": "http://[::1"},
        {"target_url": "https://x/" + "y" * 9000},
        {"target_url": "https://\ud7ff.example/"},
        {"name": "\u2028"},
        {"key": "k" * 301},
        {"payload": {"\u0000": 1}},
        {"body": "x", "payload": None, "method": "GET"},
    ],
    ids=str,
)
async def test_odd_fields_are_taken_or_refused(api: Api, fields: dict[str, Any]) -> None:
    usual = {"name": "odd", "target_url": "https://x.example", "cron_expr": "0 9 * * *"}
    answer = await api.post("/v1/schedules", usual | fields)
    assert answer.status_code in {201, 422}, answer.text
    assert await api.count() == (1 if answer.status_code == 201 else 0)
