"""What is sent (DS3, DS4, HX1, HX8)."""

from __future__ import annotations

import msgspec
from tests.unit.workers.made import SCHEDULE_ID, claim, schedule

from rota import ids
from rota.workers.delivery.request import request_of


def test_every_request_says_which_firing_it_is_for() -> None:
    headers = request_of(claim(catch_up=True, attempt=3), schedule()).headers
    firing = ids.to_text(ids.Kind.FIRING, claim().id)
    assert headers["Idempotency-Key"] == firing
    assert headers["Rota-Firing-Id"] == firing
    assert headers["Rota-Schedule-Id"] == ids.to_text(ids.Kind.SCHEDULE, SCHEDULE_ID)
    assert headers["Rota-Scheduled-For"] == "2026-03-09T13:00:00Z"
    assert headers["Rota-Attempt"] == "3"
    assert headers["Rota-Catch-Up"] == "true"
    assert headers["Rota-Fence"] == "7"
    assert headers["User-Agent"].startswith("Rota/")
    assert headers["Accept-Encoding"] == "identity"


def test_the_owners_idempotency_key_is_joined_with_the_slot() -> None:
    headers = request_of(claim(), schedule(idempotency_key="morning-report-ops")).headers
    assert headers["Idempotency-Key"] == "morning-report-ops:2026-03-09T13:00:00Z"


def test_only_the_attempt_differs_between_attempts() -> None:
    """I6."""
    first = request_of(claim(attempt=1), schedule(payload={"a": [1, "ä"]}))
    second = request_of(claim(attempt=2), schedule(payload={"a": [1, "ä"]}))
    assert first.body == second.body
    changed = {name for name in first.headers if first.headers[name] != second.headers[name]}
    assert changed == {"Rota-Attempt"}


def test_a_run_without_a_lease_has_no_fence() -> None:
    assert "Rota-Fence" not in request_of(claim(fence=None), schedule()).headers


def test_a_payload_is_sent_as_json() -> None:
    request = request_of(claim(), schedule(payload={"team": "ops"}))
    assert (request.method, request.body) == ("POST", b'{"team":"ops"}')
    assert request.headers["Content-Type"] == "application/json"


def test_a_body_is_sent_as_it_is_with_the_owners_type() -> None:
    request = request_of(
        claim(), schedule(body="<a/>", method="PUT", headers={"content-type": "text/xml"})
    )
    assert (request.method, request.body) == ("PUT", b"<a/>")
    assert [v for n, v in request.headers.items() if n.lower() == "content-type"] == ["text/xml"]


def test_a_payload_given_for_one_run_goes_before_the_schedules_own() -> None:
    request = request_of(claim(payload='{"once": true}'), schedule(payload={"always": True}))
    assert request.body == b'{"once": true}'


def test_nothing_to_say_has_no_body_and_no_type() -> None:
    request = request_of(claim(), schedule())
    assert request.body == b""
    assert "Content-Type" not in request.headers


def test_the_owners_headers_are_sent_but_never_in_place_of_rotas() -> None:
    given = {"user-agent": "mine", "X-Own": "1", "rota-attempt": "99", "accept-encoding": "br"}
    headers = request_of(claim(), schedule(headers=given)).headers
    lower = [name.lower() for name in headers]
    assert len(lower) == len(set(lower))
    assert (headers["user-agent"], headers["X-Own"]) == ("mine", "1")
    assert (headers["Rota-Attempt"], headers["Accept-Encoding"]) == ("1", "identity")


def test_a_request_is_shown_as_json_that_the_database_can_hold() -> None:
    shown = request_of(claim(payload='"\\u0000"'), schedule()).shown
    assert "\\u0000" not in shown.replace("\\\\u0000", "")
    assert msgspec.json.decode(shown)["body"] == '"\\u0000"'
    assert msgspec.json.decode(request_of(claim(), schedule(body="a\0b")).shown)["body"] == "a�b"
