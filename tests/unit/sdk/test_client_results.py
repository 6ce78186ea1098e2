"""What the server answers, read as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec

from rota.sdk.client.results import Firing, Page
from rota.sdk.client.results_admin import NewKey, SigningSecret
from rota.sdk.client.schedules import Schedule

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)


def test_a_field_that_is_not_known_is_passed_over() -> None:
    """A client of an older version reads what a newer server writes."""
    text = msgspec.json.encode(
        {
            "items": [
                {
                    "id": "fir_1",
                    "schedule_id": "sch_1",
                    "scheduled_for": NOON,
                    "status": "waiting",
                    "invented": {"later": True},
                }
            ],
            "next_cursor": None,
            "total": 7,
        }
    )
    page = msgspec.json.decode(text, type=Page[Firing])
    assert page.items[0].scheduled_for == NOON
    assert not page.items[0].has_ended


def test_instants_are_in_utc_whatever_offset_they_came_with() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=2)))
    firing = msgspec.json.decode(
        msgspec.json.encode(
            {"id": "f", "schedule_id": "s", "scheduled_for": elsewhere, "status": "dead"}
        ),
        type=Firing,
    )
    assert firing.scheduled_for.tzinfo is UTC
    assert firing.scheduled_for == NOON
    assert firing.has_ended


def test_a_schedules_version_as_http_names_it() -> None:
    schedule = Schedule(
        id="s", key="k", name="n", status="active", version=4, created_at=NOON, updated_at=NOON
    )
    assert schedule.etag == '"v4"'


def test_keys_and_secrets_do_not_show() -> None:
    key = NewKey(id="key_1", tenant="t", prefix="ab", created_at=NOON, key="rota_ab_hush")
    secret = SigningSecret(secret="whsec_hush", version=1, created_at=NOON)
    assert "hush" not in f"{key!r} {key} {secret!r} {secret}"
    assert key.key == "rota_ab_hush"
