"""`rota channel` and `rota alerts`, beside a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.process.echoing import echoing
from tests.process.serving import eventually, serving

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


CANARY = "CANARY-c0de"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


def test_a_channel_is_made_tested_and_told_of_trouble(home: Path) -> None:
    """NO1, RT5, as a person would do it."""
    with echoing() as echo, serving(home) as server:
        url = f"{echo.url}/200/{CANARY}"
        made = server.rota("channel", "add", "ops", url, "--event", "dead", "--json")
        assert (made.code, made.json["events"]) == (0, ["dead"]), made.err
        tested = server.rota("channel", "test", "ops")
        assert (tested.code, tested.out.strip()) == (0, "ops was told."), tested.err
        bad = server.rota("channel", "add", "bad", f"{echo.url}/500/x", "--event", "slow")
        assert bad.code == 0, bad.err
        tested = server.rota("channel", "test", "bad")
        assert (tested.code, "HTTP 500" in tested.err) == (1, True)
        edited = server.rota("channel", "edit", "bad", "--rename", "worse", "--disable", "--json")
        assert (edited.json["name"], edited.json["enabled"]) == ("worse", False)
        listed = server.rota("channel", "list").out + server.rota("channel", "show", "ops").out
        assert "worse" in listed
        assert CANARY not in listed + made.out
        assert server.rota("channel", "delete", "worse").code == 0
        assert "there are ops" in server.rota("channel", "show", "worse").err
        assert server.rota("alerts").out.strip() == "There is no trouble."
        down = ("add", "down", "every day at 9am", f"{echo.url}/400/x", "--attempts", "1")
        assert server.rota(*down).code == 0
        assert server.rota("trigger", "down").code == 0
        (alert,) = eventually(lambda: server.rota("alerts", "--json").json)
        assert (alert["kind"], alert["schedule_name"]) == ("dead", "down")
        assert "HTTP 400" in server.rota("alerts", "--all").out
        eventually(lambda: b'"alert.opened"' in echo.next_call().body)
