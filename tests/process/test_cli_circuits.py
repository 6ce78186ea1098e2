"""`rota circuits`, beside a real server whose target is down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.ports import reserve_port
from tests.process.serving import eventually, serving

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


def _nobody() -> str:
    """A host at which nobody listens."""
    return f"127.0.0.1:{reserve_port()}"


def test_a_host_that_is_down_is_left_alone_until_somebody_resets_it(home: Path) -> None:
    """HX5: seen and reset from the command line, and told in the log."""
    host = _nobody()
    with serving(home, ROTA_CIRCUIT_FAILURES="3", ROTA_CIRCUIT_INTERVAL="5m") as server:
        assert server.rota("circuits").out.strip() == "No host fails."
        assert server.rota("circuits", "--json").json == []
        for n in range(3):
            name = f"down-{n}"
            added = server.rota("add", name, "every day at 9am", f"http://{host}/", "--json")
            assert added.code == 0, added.err
            assert server.rota("trigger", name).code == 0
        eventually(lambda: "open" in server.rota("circuits").out)
        (one,) = server.rota("circuits", "--json").json
        assert (one["host"], one["state"], one["failures"]) == (host, "open", 3)
        assert server.rota("circuits", "reset", host).code == 0
        unknown = server.rota("circuits", "reset", "nobody.example")
        assert unknown.code == 1
        assert "nobody.example" in unknown.err
    log = (home / "serve.log").read_text("utf-8")
    assert f"circuit_opened host={host} failures=3" in log
