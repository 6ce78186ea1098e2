"""What to do about an alert: advice that the schedule it is about can follow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.watch.test_words import ALERT

from rota.dashboard import advice
from rota.watch.kinds import KINDS
from rota.watch.words import opened


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_advice(kind: str) -> None:
    assert advice.of(replace(ALERT, kind=kind)).advice


@pytest.mark.parametrize("kind", ["dead", "missed"])
def test_a_monitor_is_never_advised_to_be_backfilled_or_replayed(kind: str) -> None:
    alert = replace(ALERT, kind=kind)
    shown = advice.of(replace(alert, is_monitor=True))
    said = f"{shown.advice} {shown.means}".lower()
    assert "ping" in said
    assert not {"backfill", "replay", "misfire"} & set(said.replace(",", " ").split())
    assert shown.links == ()
    plain = advice.of(alert)
    assert ("replay" if kind == "dead" else "backfill") in plain.advice


@pytest.mark.parametrize(
    ("kind", "means"),
    [("missed", "an expected ping did not arrive"), ("dead", "a ping reported a failure")],
)
def test_a_notification_about_a_monitor_speaks_of_pings(kind: str, means: str) -> None:
    message = opened(replace(ALERT, kind=kind, is_monitor=True), now=ALERT.opened_at)
    assert means in message.title
