"""`rota tenant` and `rota key`, beside a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.process.serving import serving

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


def test_a_tenant_gets_a_key_uses_it_and_loses_it(home: Path) -> None:
    with serving(home) as server:
        made = server.rota("tenant", "add", "acme", "--weight", "3", "--json")
        assert (made.code, made.json["weight"]) == (0, 3), made.err
        key = server.rota("key", "new", "--tenant", "acme", "--name", "ci")
        assert key.code == 0, key.err
        text = key.out.strip()
        assert text.startswith("rota_")
        theirs = {"ROTA_API_KEY": text}
        assert server.rota("list", "--json", **theirs).json == []
        assert server.rota("tenant", "list", **theirs).code == 1
        edited = server.rota("tenant", "edit", "acme", "--max-schedules", "1", "--json")
        assert (edited.json["weight"], edited.json["max_schedules"]) == (3, 1)
        shown = server.rota("key", "list", "--tenant", "acme")
        prefix = text.split("_")[1]
        assert prefix in shown.out
        assert "ci" in shown.out
        assert text not in shown.out
        refused = server.rota("key", "revoke", prefix)
        assert (refused.code, "--tenant NAME" in refused.err) == (1, True), refused.err
        assert server.rota("key", "revoke", prefix, "--tenant", "acme").code == 0
        assert server.rota("list", **theirs).code == 1
        until = ("--expires", "2099-01-01 00:00")
        other = server.rota("key", "new", "--tenant", "acme", *until, "--json")
        assert other.json["expires_at"] == "2099-01-01T00:00:00Z"
        assert server.rota("key", "revoke", other.json["id"]).code == 0
        assert server.rota("tenant", "delete", "acme").code == 0
        names = [each["name"] for each in server.rota("tenant", "list", "--json").json]
        assert names == ["default"]


def test_what_is_not_there_is_said_in_a_sentence(home: Path) -> None:
    with serving(home) as server:
        for arguments in (
            ("tenant", "show", "nobody"),
            ("tenant", "edit", "default"),
            ("key", "revoke", "nothing"),
            ("key", "new", "--scope", "root"),
            ("key", "new", "--tenant", "nobody"),
        ):
            refused = server.rota(*arguments)
            assert refused.code == 1, arguments
            assert "expected" in refused.err.lower()
