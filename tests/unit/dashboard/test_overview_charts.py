"""The captions of the overview's charts."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from rota.dashboard.rendering import environment


@pytest.mark.parametrize(
    ("latest", "most", "lateness", "firings"),
    [
        (40, 20, "up to 40 ms", "up to 20<"),
        (2_000, 1_000, "up to 2.00 s", "up to 1,000<"),
        (2e6, 2e6, "up to 33 min", "up to 2,000,000<"),
    ],
)
def test_captions_are_numbers_for_people(
    latest: float, most: float, lateness: str, firings: str
) -> None:
    page = (
        environment()
        .get_template("overview_charts.html")
        .render(
            minute=SimpleNamespace(total=1, counts={}),
            stats=SimpleNamespace(
                firings=SimpleNamespace(succeeded=1, dead=0, missed=0),
                queue=SimpleNamespace(waiting=0, retrying=0, blocked=0, running=0),
                schedules=SimpleNamespace(active=1, paused=0),
                lateness=timedelta(),
            ),
            columns=[],
            lines=["", ""],
            has_late=True,
            latest=latest,
            most=most,
        )
    )
    assert lateness in page
    assert firings in page
    assert "e+06" not in page
